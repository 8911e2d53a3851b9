// The int8 matrix product for AVX2, exact: |x| · (w with the sign of x) fits the 16-bit sums of pairs, since no
// weight and no value is -128.
#pragma once

#include "product_float.h"

namespace gf {
namespace GF_ISA {

constexpr int32_t kWeightOffset = 0;

GF_INLINE int32_t four_bytes(const int8_t *p) {
  int32_t word;
  memcpy(&word, p, 4);
  return word;
}

// `count` rows by 16 columns.
template <int count>
GF_INLINE void int8_tile(const int8_t *weights, int features, const int8_t *x, int64_t x_stride, Ints *sum) {
  const __m256i ones = _mm256_set1_epi16(1);
  GF_UNROLLED
  for (int r = 0; r < count; r++) sum[r] = no_ints();
  for (int k = 0; k < features; k += 4, weights += 4 * kBlock) {
    const __m256i lo = _mm256_loadu_si256((const __m256i *)weights);
    const __m256i hi = _mm256_loadu_si256((const __m256i *)(weights + 32));
    GF_UNROLLED
    for (int r = 0; r < count; r++) {
      const __m256i value = _mm256_set1_epi32(four_bytes(x + r * x_stride + k));
      const __m256i size = _mm256_abs_epi8(value);
      const __m256i low = _mm256_maddubs_epi16(size, _mm256_sign_epi8(lo, value));
      const __m256i high = _mm256_maddubs_epi16(size, _mm256_sign_epi8(hi, value));
      sum[r].lo = _mm256_add_epi32(sum[r].lo, _mm256_madd_epi16(low, ones));
      sum[r].hi = _mm256_add_epi32(sum[r].hi, _mm256_madd_epi16(high, ones));
    }
  }
}

template <int count>
GF_INLINE void int8_rows(const Matrix &m, const Rows &x, int row, int n, float *out, int64_t stride, bool add) {
  const int8_t *weights = (const int8_t *)m.bytes + (int64_t)n * m.features;
  GF_UNROLLED
  for (int v = 0; v < kVectors; v++) {
    Ints sum[count];
    int8_tile<count>(weights + 4 * v * kLanes, m.features, x.bytes + row * x.byte_stride, x.byte_stride, sum);
    const int at = v * kLanes;
    GF_UNROLLED
    for (int r = 0; r < count; r++)
      finish_columns(sum + r, 1, x.scale[row + r], m.scale + n + at, m.bias + n + at,
                     out + (row + r) * stride + at, add);
  }
}

static void int8_product(const Matrix &m, const Rows &x, int rows, int first, int last, float *out, int64_t stride,
                         bool add) {
  for (int n = first; n < last; n += kBlock, out += kBlock) {
    int row = 0;
    for (; row + 4 <= rows; row += 4) int8_rows<4>(m, x, row, n, out, stride, add);
    for (; row < rows; row++) int8_rows<1>(m, x, row, n, out, stride, add);
  }
}

}  // namespace GF_ISA
}  // namespace gf
