// The kernels in plain C++, for any processor.
#define GF_ISA portable
#define GF_NAME "portable"
#include "../kernels/product_portable.h"
#include "../kernels/set.h"

namespace gf {
const Kernels &portable_kernels() { return portable::kSet; }
}  // namespace gf
