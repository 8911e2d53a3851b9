// The kernels for AVX2 and FMA.
#define GF_ISA avx2
#define GF_NAME "avx2"
#include "../kernels/product_avx2.h"
#include "../kernels/set.h"

namespace gf {
const Kernels &avx2_kernels() { return avx2::kSet; }
}  // namespace gf
