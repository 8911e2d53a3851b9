// After Goto and van de Geijn (2008): pieces of both factors are packed into the order in which the innermost loop
// reads them, sized so that one of A stays in the second cache while those of B pass by.
#include "large_product.h"

#include <immintrin.h>

#include "../kernels/scratch.h"
#include "../kernels/transpose.h"

namespace gf {

namespace {

constexpr int kLanes = 16;
constexpr int kTileRows = 14, kTileColumns = 2 * kLanes;  // 28 of the 32 registers hold sums
constexpr int64_t kDepth = 256;                           // of k, packed at once; with more, longer sums lose digits
constexpr int64_t kRows = 20 * kTileRows;                 // of A: 280 kB
constexpr int64_t kColumns = 64 * kTileColumns;           // of B: 2 MB

thread_local Scratch room_for_a, room_for_b;

__mmask16 first(int64_t n) { return n >= kLanes ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

// Rows of a factor that lie side by side: (panel, depth, width), the last panel filled up with zeros.
template <int width>
void pack_along(const float *from, int64_t apart, int64_t rows, int64_t depth, float *out) {
  for (int64_t k = 0; k < depth; k++, from += apart, out += width) {
    float *to = out;
    int64_t row = 0;
    // The last lanes of a vector go over the end of a place: into the next one, which is written after it, except at
    // the end of a panel.
    if (width % kLanes == 0 || k + 1 < depth)
      for (; row + rounded_up(width, kLanes) <= rows; row += width, to += depth * width)
        for (int v = 0; v < width; v += kLanes) _mm512_storeu_ps(to + v, _mm512_loadu_ps(from + row + v));
    for (; row < rows; row += width, to += depth * width)
      for (int v = 0; v < width; v += kLanes)
        _mm512_mask_storeu_ps(to + v, first(width - v),
                              _mm512_maskz_loadu_ps(first(least(rows - row, width) - v), from + row + v));
  }
}

// The same of rows that lie one below the other, sixteen by sixteen.
template <int width>
void pack_across(const float *from, int64_t apart, int64_t rows, int64_t depth, float *out) {
  for (int64_t row = 0; row < rows; row += width, out += depth * width)
    for (int64_t k = 0; k < depth; k += kLanes)
      for (int v = 0; v < width; v += kLanes) {
        const int64_t here = least(kLanes, least(width - v, rows - row - v));
        __m512 square[16];
        for (int i = 0; i < 16; i++)
          square[i] = i < here ? _mm512_maskz_loadu_ps(first(depth - k), from + (row + v + i) * apart + k)
                               : _mm512_setzero_ps();
        transpose(square);
        const int64_t columns = least(kLanes, depth - k);
        for (int i = 0; i < columns; i++) _mm512_storeu_ps(out + (k + i) * width + v, square[i]);
      }
}

template <int width>
void pack(const Strided &x, int64_t row, int64_t rows, int64_t k, int64_t depth, float *out) {
  const float *from = x.data + row * x.rows_apart + k * x.columns_apart;
  if (x.rows_apart == 1)
    pack_along<width>(from, x.columns_apart, rows, depth, out);
  else
    pack_across<width>(from, x.rows_apart, rows, depth, out);
}

// A tile of C from a panel of each factor.
inline __attribute__((always_inline)) void tile(int64_t depth, const float *a, const float *b, float *c,
                                                int64_t c_rows_apart, int64_t rows, int64_t columns,
                                                const float *bias, bool add) {
  for (int64_t i = 0; i < rows; i++) {
    _mm_prefetch((const char *)(c + i * c_rows_apart), _MM_HINT_T0);
    _mm_prefetch((const char *)(c + i * c_rows_apart + kLanes), _MM_HINT_T0);
  }
  __m512 sum[kTileRows][2];
  for (auto &row : sum) row[0] = row[1] = _mm512_setzero_ps();
  for (int64_t k = 0; k < depth; k++, a += kTileRows, b += kTileColumns) {
    const __m512 left = _mm512_load_ps(b), right = _mm512_load_ps(b + kLanes);
#pragma GCC unroll 14
    for (int i = 0; i < kTileRows; i++) {
      const __m512 x = _mm512_set1_ps(a[i]);
      sum[i][0] = _mm512_fmadd_ps(x, left, sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(x, right, sum[i][1]);
    }
  }
  const __mmask16 left = first(columns), right = first(columns - kLanes);
  const __m512 bias_left = bias ? _mm512_maskz_loadu_ps(left, bias) : _mm512_setzero_ps();
  const __m512 bias_right = bias ? _mm512_maskz_loadu_ps(right, bias + kLanes) : _mm512_setzero_ps();
#pragma GCC unroll 14
  for (int i = 0; i < kTileRows; i++) {
    if (i >= rows) break;
    float *to = c + i * c_rows_apart;
    const __m512 to_left = add ? _mm512_maskz_loadu_ps(left, to) : bias_left;
    const __m512 to_right = add ? _mm512_maskz_loadu_ps(right, to + kLanes) : bias_right;
    _mm512_mask_storeu_ps(to, left, _mm512_add_ps(sum[i][0], to_left));
    _mm512_mask_storeu_ps(to + kLanes, right, _mm512_add_ps(sum[i][1], to_right));
  }
}

// Rows and columns of C, by one thread.
void piece(const LargeProduct &p, int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
  float *a = room_for_a.reserve(kRows * kDepth), *b = room_for_b.reserve(kColumns * kDepth);
  for (int64_t n = column; n < column_end; n += kColumns) {
    const int64_t columns = least(kColumns, column_end - n);
    for (int64_t k = 0; k < p.k; k += kDepth) {
      const int64_t depth = least(kDepth, p.k - k);
      pack<kTileColumns>(p.b, n, columns, k, depth, b);
      for (int64_t m = row; m < row_end; m += kRows) {
        const int64_t rows = least(kRows, row_end - m);
        pack<kTileRows>(p.a, m, rows, k, depth, a);
        for (int64_t j = 0; j < columns; j += kTileColumns)
          for (int64_t i = 0; i < rows; i += kTileRows)
            tile(depth, a + i * depth, b + j * depth, p.c + (m + i) * p.c_rows_apart + n + j, p.c_rows_apart,
                 least(kTileRows, rows - i), least(kTileColumns, columns - j),
                 p.bias ? p.bias + n + j : nullptr, p.add || k > 0);
      }
    }
  }
}

int64_t border(int64_t n, int64_t step, int64_t part, int64_t parts) {
  return least(n, (n + step - 1) / step * part / parts * step);
}

}  // namespace

void large_product(const LargeProduct &p, const Team &team) {
  // Threads below each other pack the same of B, threads beside each other the same of A: as little as possible.
  int64_t down = 1, across = 1, least = INT64_MAX;
  const int threads = team.parallel ? team.threads : 1;
  for (int rows = 1; rows <= threads; rows++) {
    const int64_t packed = p.n * rows + p.m * (threads / rows);
    if (threads % rows == 0 && packed < least) {
      least = packed;
      down = rows;
      across = threads / rows;
    }
  }
  team.share(down * across, [&](int64_t index) {
    const int64_t i = index / across, j = index % across;
    piece(p, border(p.m, kTileRows, i, down), border(p.m, kTileRows, i + 1, down),
          border(p.n, kTileColumns, j, across), border(p.n, kTileColumns, j + 1, across));
  });
}

}  // namespace gf
