// Sixteen rows of sixteen floats become columns; AVX-512.
#pragma once

#include <immintrin.h>

namespace gf {

static inline __attribute__((always_inline)) void transpose(__m512 (&r)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 4) {
    const __m512d low = _mm512_castps_pd(_mm512_unpacklo_ps(r[i], r[i + 1]));
    const __m512d high = _mm512_castps_pd(_mm512_unpackhi_ps(r[i], r[i + 1]));
    const __m512d next_low = _mm512_castps_pd(_mm512_unpacklo_ps(r[i + 2], r[i + 3]));
    const __m512d next_high = _mm512_castps_pd(_mm512_unpackhi_ps(r[i + 2], r[i + 3]));
    t[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, next_low));
    t[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, next_low));
    t[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high, next_high));
    t[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high, next_high));
  }
  for (int i = 0; i < 4; i++) {
    const __m512 even = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88), odd = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
    const __m512 even_after = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
    const __m512 odd_after = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
    r[i] = _mm512_shuffle_f32x4(even, even_after, 0x88);
    r[i + 4] = _mm512_shuffle_f32x4(odd, odd_after, 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(even, even_after, 0xdd);
    r[i + 12] = _mm512_shuffle_f32x4(odd, odd_after, 0xdd);
  }
}

}  // namespace gf
