// The kernels for AVX-512 with VNNI.
#define GF_ISA avx512vnni
#define GF_NAME "avx512vnni"
#include "../kernels/product_avx512vnni.h"
#include "../kernels/set.h"

namespace gf {
const Kernels &avx512vnni_kernels() { return avx512vnni::kSet; }
}  // namespace gf
