// Sixteen float lanes: the one vector type that every kernel is written in.
//
// Each instruction set has its own implementation, and all of them do the same operations in the same order, so a
// kernel gives the same bits whichever it is compiled for. Only `fused` may differ, which is why nothing but the
// float32 matrix product uses it. Kernels live in the namespace GF_ISA: no symbol of one instruction set can be
// taken by the linker for another's. They use no templates of the standard library, for the same reason.
#pragma once

#ifndef GF_ISA
#error "define GF_ISA before including kernels"
#endif

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX2__)
#define GF_INLINE static inline __attribute__((always_inline))
// Before a loop over registers: only when all of it is unrolled can an array of vectors live in registers.
#define GF_UNROLLED _Pragma("GCC unroll 16")
#else  // no register holds 16 floats: unrolling would only make the code long
#define GF_INLINE static inline
#define GF_UNROLLED
#endif

namespace gf {
namespace GF_ISA {

constexpr int kLanes = 16;

#if defined(__AVX512F__)

struct Lanes {
  __m512 v;
};
struct Ints {
  __m512i v;
};
GF_INLINE Lanes load(const float *p) { return {_mm512_loadu_ps(p)}; }
GF_INLINE void store(float *p, Lanes a) { _mm512_storeu_ps(p, a.v); }
GF_INLINE Lanes all(float x) { return {_mm512_set1_ps(x)}; }
GF_INLINE Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
GF_INLINE Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
GF_INLINE Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
GF_INLINE Lanes operator/(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
GF_INLINE Lanes larger(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
GF_INLINE Lanes smaller(Lanes a, Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }
GF_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
GF_INLINE Lanes magnitude(Lanes a) {
  return {_mm512_castsi512_ps(_mm512_and_epi32(_mm512_castps_si512(a.v), _mm512_set1_epi32(0x7fffffff)))};
}
// To the nearest integer, ties to even.
GF_INLINE Ints rounded(Lanes a) { return {_mm512_cvtps_epi32(a.v)}; }
GF_INLINE Lanes to_float(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
GF_INLINE Ints load_ints(const int32_t *p) { return {_mm512_loadu_si512(p)}; }
GF_INLINE Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
GF_INLINE Ints no_ints() { return {_mm512_setzero_si512()}; }
GF_INLINE void store_bytes(int8_t *p, Ints a) { _mm_storeu_si128((__m128i *)p, _mm512_cvtsepi32_epi8(a.v)); }
// 2^n for n from -126 to 127.
GF_INLINE Lanes power_of_two(Ints n) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n.v, _mm512_set1_epi32(127)), 23))};
}
// The first n lanes of a, the others from b.
GF_INLINE Lanes first_lanes(int n, Lanes a, Lanes b) {
  return {_mm512_mask_blend_ps((__mmask16)((1u << n) - 1), b.v, a.v)};
}
// Bit i is set where lane i of a is greater than that of b.
GF_INLINE uint32_t greater(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ); }
GF_INLINE float total(Lanes a) {
  __m256 x = _mm256_add_ps(_mm512_castps512_ps256(a.v),
                           _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a.v), 1)));
  __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_add_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}
GF_INLINE float largest(Lanes a) {
  __m256 x = _mm256_max_ps(_mm512_castps512_ps256(a.v),
                           _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a.v), 1)));
  __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_max_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_max_ss(y, _mm_shuffle_ps(y, y, 1)));
}
GF_INLINE int32_t total(Ints a) { return _mm512_reduce_add_epi32(a.v); }
// Lane i of the result is total(v[i]).
GF_INLINE Lanes totals(const Lanes *v) {
  __m512 quad[4];
  for (int i = 0; i < 4; i++) {
    __m512 a = v[i].v, b = v[4 + i].v, c = v[8 + i].v, d = v[12 + i].v;
    __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    quad[i] = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
  }
  __m512 e = _mm512_add_ps(_mm512_shuffle_ps(quad[0], quad[1], 0x44), _mm512_shuffle_ps(quad[0], quad[1], 0xee));
  __m512 f = _mm512_add_ps(_mm512_shuffle_ps(quad[2], quad[3], 0x44), _mm512_shuffle_ps(quad[2], quad[3], 0xee));
  return {_mm512_add_ps(_mm512_shuffle_ps(e, f, 0x88), _mm512_shuffle_ps(e, f, 0xdd))};
}

#elif defined(__AVX2__)

struct Lanes {
  __m256 lo, hi;
};
struct Ints {
  __m256i lo, hi;
};
GF_INLINE Lanes load(const float *p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
GF_INLINE void store(float *p, Lanes a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
GF_INLINE Lanes all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
GF_INLINE Lanes operator+(Lanes a, Lanes b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
GF_INLINE Lanes operator-(Lanes a, Lanes b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
GF_INLINE Lanes operator*(Lanes a, Lanes b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
GF_INLINE Lanes operator/(Lanes a, Lanes b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
GF_INLINE Lanes larger(Lanes a, Lanes b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
GF_INLINE Lanes smaller(Lanes a, Lanes b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
GF_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
GF_INLINE Lanes magnitude(Lanes a) {
  __m256 bits = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  return {_mm256_and_ps(a.lo, bits), _mm256_and_ps(a.hi, bits)};
}
GF_INLINE Ints rounded(Lanes a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
GF_INLINE Lanes to_float(Ints a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
GF_INLINE Ints load_ints(const int32_t *p) {
  return {_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 8))};
}
GF_INLINE Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
GF_INLINE Ints no_ints() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
GF_INLINE void store_bytes(int8_t *p, Ints a) {
  __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xd8);
  __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(words, words), 0xd8);
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(bytes));
}
GF_INLINE Lanes power_of_two(Ints n) {
  __m256i bias = _mm256_set1_epi32(127);
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.lo, bias), 23)),
          _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.hi, bias), 23))};
}
GF_INLINE Lanes first_lanes(int n, Lanes a, Lanes b) {
  const __m256i low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256 take_lo = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), low));
  __m256 take_hi = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), low));
  return {_mm256_blendv_ps(b.lo, a.lo, take_lo), _mm256_blendv_ps(b.hi, a.hi, take_hi)};
}
GF_INLINE uint32_t greater(Lanes a, Lanes b) {
  return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a.lo, b.lo, _CMP_GT_OQ)) |
         (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a.hi, b.hi, _CMP_GT_OQ)) << 8;
}
GF_INLINE float total(Lanes a) {
  __m256 x = _mm256_add_ps(a.lo, a.hi);
  __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_add_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}
GF_INLINE float largest(Lanes a) {
  __m256 x = _mm256_max_ps(a.lo, a.hi);
  __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_max_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_max_ss(y, _mm_shuffle_ps(y, y, 1)));
}
GF_INLINE int32_t total(Ints a) {
  int32_t parts[8], sum = 0;
  _mm256_storeu_si256((__m256i *)parts, _mm256_add_epi32(a.lo, a.hi));
  for (int i = 0; i < 8; i++) sum += parts[i];
  return sum;
}
GF_INLINE __m256 totals_of_8(const Lanes *v) {
  __m256 pair[4];
  for (int i = 0; i < 4; i++) {
    __m256 a = _mm256_add_ps(v[i].lo, v[i].hi), b = _mm256_add_ps(v[4 + i].lo, v[4 + i].hi);
    pair[i] = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  }
  __m256 e = _mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x44), _mm256_shuffle_ps(pair[0], pair[1], 0xee));
  __m256 f = _mm256_add_ps(_mm256_shuffle_ps(pair[2], pair[3], 0x44), _mm256_shuffle_ps(pair[2], pair[3], 0xee));
  return _mm256_add_ps(_mm256_shuffle_ps(e, f, 0x88), _mm256_shuffle_ps(e, f, 0xdd));
}
GF_INLINE Lanes totals(const Lanes *v) { return {totals_of_8(v), totals_of_8(v + 8)}; }

#else

struct Lanes {
  float v[kLanes];
};
struct Ints {
  int32_t v[kLanes];
};
#define GF_EACH for (int i = 0; i < kLanes; i++)
GF_INLINE Lanes load(const float *p) {
  Lanes r;
  memcpy(r.v, p, sizeof r.v);
  return r;
}
GF_INLINE void store(float *p, Lanes a) { memcpy(p, a.v, sizeof a.v); }
GF_INLINE Lanes all(float x) {
  Lanes r;
  GF_EACH r.v[i] = x;
  return r;
}
GF_INLINE Lanes operator+(Lanes a, Lanes b) {
  GF_EACH a.v[i] += b.v[i];
  return a;
}
GF_INLINE Lanes operator-(Lanes a, Lanes b) {
  GF_EACH a.v[i] -= b.v[i];
  return a;
}
GF_INLINE Lanes operator*(Lanes a, Lanes b) {
  GF_EACH a.v[i] *= b.v[i];
  return a;
}
GF_INLINE Lanes operator/(Lanes a, Lanes b) {
  GF_EACH a.v[i] /= b.v[i];
  return a;
}
GF_INLINE Lanes larger(Lanes a, Lanes b) {
  GF_EACH a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return a;
}
GF_INLINE Lanes smaller(Lanes a, Lanes b) {
  GF_EACH a.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
  return a;
}
GF_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
  GF_EACH a.v[i] = a.v[i] * b.v[i] + c.v[i];
  return a;
}
GF_INLINE Lanes magnitude(Lanes a) {
  GF_EACH a.v[i] = __builtin_fabsf(a.v[i]);
  return a;
}
GF_INLINE Ints rounded(Lanes a) {
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer, ties to even
  Ints r;
  GF_EACH {
    float x = a.v[i] > -4e6f ? a.v[i] : -4e6f;
    x = (x < 4e6f ? x : 4e6f) + shift;
    int32_t bits;
    memcpy(&bits, &x, 4);
    r.v[i] = bits - 0x4b400000;
  }
  return r;
}
GF_INLINE Lanes to_float(Ints a) {
  Lanes r;
  GF_EACH r.v[i] = (float)a.v[i];
  return r;
}
GF_INLINE Ints load_ints(const int32_t *p) {
  Ints r;
  memcpy(r.v, p, sizeof r.v);
  return r;
}
GF_INLINE Ints operator+(Ints a, Ints b) {
  GF_EACH a.v[i] += b.v[i];
  return a;
}
GF_INLINE Ints no_ints() {
  Ints r;
  GF_EACH r.v[i] = 0;
  return r;
}
GF_INLINE void store_bytes(int8_t *p, Ints a) {
  GF_EACH p[i] = (int8_t)(a.v[i] < -128 ? -128 : a.v[i] > 127 ? 127 : a.v[i]);
}
GF_INLINE Lanes power_of_two(Ints n) {
  Lanes r;
  GF_EACH {
    uint32_t bits = (uint32_t)(n.v[i] + 127) << 23;
    memcpy(&r.v[i], &bits, 4);
  }
  return r;
}
GF_INLINE Lanes first_lanes(int n, Lanes a, Lanes b) {
  GF_EACH a.v[i] = i < n ? a.v[i] : b.v[i];
  return a;
}
GF_INLINE uint32_t greater(Lanes a, Lanes b) {
  uint32_t bits = 0;
  GF_EACH bits |= (uint32_t)(a.v[i] > b.v[i]) << i;
  return bits;
}
GF_INLINE float total(Lanes a) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) a.v[i] += a.v[i + half];
  return a.v[0];
}
GF_INLINE float largest(Lanes a) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
  return a.v[0];
}
GF_INLINE int32_t total(Ints a) {
  int32_t sum = 0;
  GF_EACH sum += a.v[i];
  return sum;
}
GF_INLINE Lanes totals(const Lanes *v) {
  Lanes r;
  GF_EACH r.v[i] = total(v[i]);
  return r;
}
#undef GF_EACH

#endif

// e^x to within 2 units in the last place; x below -87.3 is taken as -87.3, above 88 as 88.
GF_INLINE Lanes exponential(Lanes x) {
  x = smaller(larger(x, all(-87.3f)), all(88.0f));
  Ints n = rounded(x * all(1.44269504088896341f));
  Lanes whole = to_float(n);
  Lanes r = x - whole * all(0.693359375f) - whole * all(-2.12194440e-4f);
  Lanes p = all(1.9875691500e-4f);
  p = p * r + all(1.3981999507e-3f);
  p = p * r + all(8.3334519073e-3f);
  p = p * r + all(4.1665795894e-2f);
  p = p * r + all(1.6666665459e-1f);
  p = p * r + all(5.0000001201e-1f);
  return (p * (r * r) + r + all(1.0f)) * power_of_two(n);
}

}  // namespace GF_ISA
}  // namespace gf
