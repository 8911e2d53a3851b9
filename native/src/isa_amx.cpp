// The kernels for AMX-int8, and AVX-512 for everything else.
#define GF_ISA amx
#define GF_NAME "amx"
#include "../kernels/product_amx.h"
#include "../kernels/set.h"

namespace gf {
const Kernels &amx_kernels() { return amx::kSet; }
}  // namespace gf
