// A trial of one set of kernels against the portable ones.
#pragma once

#include <string>

#include "../kernels/kernels.h"

namespace gf {

// Empty if every kernel agrees with its portable twin, else which does not.
std::string disagreement(const Kernels &kernels);

}  // namespace gf
