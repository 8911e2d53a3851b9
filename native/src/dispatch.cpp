#include "dispatch.h"

#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gf {

namespace {

std::atomic<bool> amx_allowed{false};

bool always() { return true; }

#if defined(__x86_64__)

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512vnni() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

bool has_amx() {
#if defined(GF_TEST_LIE)
  return true;  // a test build: the processor claims what it cannot do
#endif
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!has_avx512vnni() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d >> 24 & 1) && (d >> 25 & 1);  // tiles, and int8 products of them
}

#endif

const KernelChoice kChoices[] = {
#if defined(__x86_64__)
    {"amx", amx_kernels, has_amx, true},
    {"avx512vnni", avx512vnni_kernels, has_avx512vnni, false},
    {"avx2", avx2_kernels, has_avx2, false},
#endif
    {"portable", portable_kernels, always, false},
};

}  // namespace

int choice_count() { return (int)(sizeof kChoices / sizeof kChoices[0]); }

const KernelChoice &choice(int index) { return kChoices[index]; }

const KernelChoice *find_choice(const char *name) {
  for (const KernelChoice &each : kChoices)
    if (name && std::strcmp(each.name, name) == 0) return &each;
  return nullptr;
}

bool available(const KernelChoice &choice) {
  return choice.claimed() && (!choice.needs_permission || amx_allowed.load());
}

bool allow(const KernelChoice &choice) {
  if (!choice.claimed()) return false;
  if (!choice.needs_permission) return true;
#if defined(__x86_64__) && defined(__linux__)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
#if defined(GF_TEST_LIE)
  __builtin_trap();
#endif
  if (syscall(SYS_arch_prctl, request_permission, tile_data) != 0) return false;
  amx_allowed.store(true);
  return true;
#else
  return false;
#endif
}

}  // namespace gf
