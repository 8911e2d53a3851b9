// Which kernels can run here.
#pragma once

#include "../kernels/kernels.h"

namespace gf {

struct KernelChoice {
  const char *name;
  const Kernels &(*kernels)();
  bool (*claimed)();       // does the processor say it can?
  bool needs_permission;   // its word is not enough
};

int choice_count();
const KernelChoice &choice(int index);        // best first
const KernelChoice *find_choice(const char *name);  // null: no such set
bool available(const KernelChoice &);
bool allow(const KernelChoice &);  // asks the operating system where that is needed

}  // namespace gf
