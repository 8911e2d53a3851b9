// The int8 matrix product for AVX-512 with VNNI, whose instruction multiplies unsigned by signed bytes: weights are
// stored 128 too large, and 128 times the sum of a row's values is taken off again.
#pragma once

#include "product_float.h"

namespace gf {
namespace GF_ISA {

constexpr int32_t kWeightOffset = 128;

GF_INLINE int32_t four_bytes(const int8_t *p) {
  int32_t word;
  memcpy(&word, p, 4);
  return word;
}

// sum += weights · values, four at a time. In assembly: the compilers' own version of it makes them move sums about.
GF_INLINE void add_products(__m512i &sum, __m512i weights, __m512i values) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(values));
}

// `count` rows by 64 columns: up to 24 registers of sums, 4 of weights.
template <int count>
GF_INLINE void int8_rows(const Matrix &m, const Rows &x, int row, int n, float *out, int64_t stride, bool add) {
  __m512i sum[count][kVectors];
  GF_UNROLLED
  for (int r = 0; r < count; r++) {
    const __m512i start = _mm512_set1_epi32(-kWeightOffset * x.sum[row + r]);
    GF_UNROLLED
    for (int v = 0; v < kVectors; v++) sum[r][v] = start;
  }
  const uint8_t *weights = m.bytes + (int64_t)n * m.features;
  const int8_t *values = x.bytes + row * x.byte_stride;
  for (int k = 0; k < m.features; k += 4, weights += 4 * kBlock) {
    __m512i w[kVectors];
    GF_UNROLLED
    for (int v = 0; v < kVectors; v++) w[v] = _mm512_loadu_si512(weights + v * 64);
    GF_UNROLLED
    for (int r = 0; r < count; r++) {
      const __m512i value = _mm512_set1_epi32(four_bytes(values + r * x.byte_stride + k));
      GF_UNROLLED
      for (int v = 0; v < kVectors; v++) add_products(sum[r][v], w[v], value);
    }
  }
  GF_UNROLLED
  for (int r = 0; r < count; r++) {
    Ints done[kVectors];
    GF_UNROLLED
    for (int v = 0; v < kVectors; v++) done[v].v = sum[r][v];
    finish_columns(done, kVectors, x.scale[row + r], m.scale + n, m.bias + n, out + (row + r) * stride, add);
  }
}

static void int8_product(const Matrix &m, const Rows &x, int rows, int first, int last, float *out, int64_t stride,
                         bool add) {
  for (int n = first; n < last; n += kBlock, out += kBlock) {
    int row = 0;
    for (; row + 6 <= rows; row += 6) int8_rows<6>(m, x, row, n, out, stride, add);
    switch (rows - row) {
      case 5: int8_rows<5>(m, x, row, n, out, stride, add); break;
      case 4: int8_rows<4>(m, x, row, n, out, stride, add); break;
      case 3: int8_rows<3>(m, x, row, n, out, stride, add); break;
      case 2: int8_rows<2>(m, x, row, n, out, stride, add); break;
      case 1: int8_rows<1>(m, x, row, n, out, stride, add); break;
      default: break;
    }
  }
}

}  // namespace GF_ISA
}  // namespace gf
