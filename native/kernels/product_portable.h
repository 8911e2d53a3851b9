// The int8 matrix product in plain C++: what the other instruction sets must equal, bit for bit.
#pragma once

#include "product_float.h"

namespace gf {
namespace GF_ISA {

constexpr int32_t kWeightOffset = 0;

static void int8_product(const Matrix &m, const Rows &x, int rows, int first, int last, float *out, int64_t stride,
                         bool add) {
  for (int n = first; n < last; n += kBlock, out += kBlock) {
    for (int row = 0; row < rows; row++) {
      const int8_t *weights = (const int8_t *)m.bytes + (int64_t)n * m.features;
      const int8_t *values = x.bytes + row * x.byte_stride;
      int32_t sum[kBlock] = {0};
      for (int k = 0; k < m.features; k += 4, weights += 4 * kBlock)
        for (int c = 0; c < kBlock; c++)
          for (int i = 0; i < 4; i++) sum[c] += weights[4 * c + i] * values[k + i];
      Ints vectors[kVectors];
      for (int v = 0; v < kVectors; v++) vectors[v] = load_ints(sum + v * kLanes);
      finish_columns(vectors, kVectors, x.scale[row], m.scale + n, m.bias + n, out + row * stride, add);
    }
  }
}

}  // namespace GF_ISA
}  // namespace gf
