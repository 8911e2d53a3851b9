// The float32 matrix product. The features are summed in one order, however many rows are computed together, so a
// row does not depend on its neighbours.
#pragma once

#include "kernels.h"
#include "lanes.h"

namespace gf {
namespace GF_ISA {

constexpr int kVectors = kBlock / kLanes;

// `count` rows by `vectors` × 16 columns of a block.
template <int count, int vectors>
GF_INLINE void float_tile(const float *weights, int features, const float *x, int64_t x_stride, const float *bias,
                          float *out, int64_t stride, bool add) {
  Lanes sum[count][vectors];
  GF_UNROLLED
  for (int r = 0; r < count; r++)
    GF_UNROLLED
    for (int v = 0; v < vectors; v++) sum[r][v] = all(0.0f);
  for (int k = 0; k < features; k++, weights += kBlock) {
    Lanes w[vectors];
    GF_UNROLLED
    for (int v = 0; v < vectors; v++) w[v] = load(weights + v * kLanes);
    GF_UNROLLED
    for (int r = 0; r < count; r++) {
      const Lanes value = all(x[r * x_stride + k]);
      GF_UNROLLED
      for (int v = 0; v < vectors; v++) sum[r][v] = fused(value, w[v], sum[r][v]);
    }
  }
  GF_UNROLLED
  for (int r = 0; r < count; r++)
    GF_UNROLLED
    for (int v = 0; v < vectors; v++) {
      float *to = out + r * stride + v * kLanes;
      Lanes y = sum[r][v] + load(bias + v * kLanes);
      store(to, add ? load(to) + y : y);
    }
}

#if defined(__AVX512F__)
constexpr int kFloatRows = 6, kFloatVectors = 4;  // 24 of the 32 registers hold sums
#else
constexpr int kFloatRows = 6, kFloatVectors = 1;  // 12 of 16, each vector being two registers
#endif

template <int count>
GF_INLINE void float_rows(const Matrix &m, const float *weights, const Rows &x, int row, int n, float *out,
                          int64_t stride, bool add) {
  for (int v = 0; v < kVectors; v += kFloatVectors)
    float_tile<count, kFloatVectors>(weights + v * kLanes, m.features, x.floats + row * x.stride, x.stride,
                                     m.bias + n + v * kLanes, out + row * stride + v * kLanes, stride, add);
}

static void float_product(const Matrix &m, const Rows &x, int rows, int first, int last, float *out, int64_t stride,
                          bool add) {
  for (int n = first; n < last; n += kBlock, out += kBlock) {
    const float *weights = m.floats + (int64_t)n * m.features;
    int row = 0;
    for (; row + kFloatRows <= rows; row += kFloatRows) float_rows<kFloatRows>(m, weights, x, row, n, out, stride, add);
    switch (rows - row) {
      case 5: float_rows<5>(m, weights, x, row, n, out, stride, add); break;
      case 4: float_rows<4>(m, weights, x, row, n, out, stride, add); break;
      case 3: float_rows<3>(m, weights, x, row, n, out, stride, add); break;
      case 2: float_rows<2>(m, weights, x, row, n, out, stride, add); break;
      case 1: float_rows<1>(m, weights, x, row, n, out, stride, add); break;
      default: break;
    }
  }
}

// What all int8 products end with: integer sums of `kBlock` columns to floats.
GF_INLINE void finish_columns(const Ints *sum, int vectors, float x_scale, const float *scale, const float *bias,
                              float *out, bool add) {
  GF_UNROLLED
  for (int v = 0; v < vectors; v++) {
    const Lanes factor = all(x_scale) * load(scale + v * kLanes);
    const Lanes y = to_float(sum[v]) * factor + load(bias + v * kLanes);
    store(out + v * kLanes, add ? load(out + v * kLanes) + y : y);
  }
}

}  // namespace GF_ISA
}  // namespace gf
