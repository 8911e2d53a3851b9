// After Goto and van de Geijn (2008): pieces of both factors are packed into the order in which the innermost loop
// reads them, sized so that one of A stays in the second cache while those of B pass by.
#include "large_product.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "buffer.h"

namespace gf {

namespace {

constexpr int kLanes = 16;
constexpr int kTileRows = 14, kTileColumns = 2 * kLanes;  // 28 of the 32 registers hold sums
constexpr int64_t kDepth = 512;                           // of k, packed at once
constexpr int64_t kRows = 20 * kTileRows;                 // of A: 560 kB
constexpr int64_t kColumns = 64 * kTileColumns;           // of B: 4 MB
constexpr int64_t kSlack = kLanes;                        // whole vectors are written, over the end too

struct Room {
  Buffer<float> a, b;
  void reserve() {
    a.reserve(kRows * kDepth + kSlack);
    b.reserve(kColumns * kDepth + kSlack);
  }
};
thread_local Room room;

__mmask16 first(int64_t n) { return n >= kLanes ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

void transpose(__m512 (&r)[16]) {
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

// Rows of a factor that lie side by side: (panel, depth, width), the last panel filled up with zeros.
template <int width>
void pack_along(const float *from, int64_t apart, int64_t rows, int64_t depth, float *out) {
  for (int64_t k = 0; k < depth; k++, from += apart, out += width) {
    float *to = out;
    int64_t row = 0;
    // The last lanes of a vector go over the end of a place: into the next one, which is written after it, except at
    // the end of a panel.
    if (width % kLanes == 0 || k + 1 < depth)
      for (; row + round_up(width, kLanes) <= rows; row += width, to += depth * width)
        for (int v = 0; v < width; v += kLanes) _mm512_storeu_ps(to + v, _mm512_loadu_ps(from + row + v));
    for (; row < rows; row += width, to += depth * width)
      for (int v = 0; v < width; v += kLanes)
        _mm512_mask_storeu_ps(to + v, first(width - v),
                              _mm512_maskz_loadu_ps(first(std::min<int64_t>(rows - row, width) - v), from + row + v));
  }
}

// The same of rows that lie one below the other, sixteen by sixteen.
template <int width>
void pack_across(const float *from, int64_t apart, int64_t rows, int64_t depth, float *out) {
  for (int64_t row = 0; row < rows; row += width, out += depth * width)
    for (int64_t k = 0; k < depth; k += kLanes)
      for (int v = 0; v < width; v += kLanes) {
        const int64_t here = std::min<int64_t>({kLanes, width - v, rows - row - v});
        __m512 square[16];
        for (int i = 0; i < 16; i++)
          square[i] = i < here ? _mm512_maskz_loadu_ps(first(depth - k), from + (row + v + i) * apart + k)
                               : _mm512_setzero_ps();
        transpose(square);
        const int64_t columns = std::min<int64_t>(kLanes, depth - k);
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
  float *a = room.a.data(), *b = room.b.data();
  for (int64_t n = column; n < column_end; n += kColumns) {
    const int64_t columns = std::min(kColumns, column_end - n);
    for (int64_t k = 0; k < p.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, p.k - k);
      pack<kTileColumns>(p.b, n, columns, k, depth, b);
      for (int64_t m = row; m < row_end; m += kRows) {
        const int64_t rows = std::min(kRows, row_end - m);
        pack<kTileRows>(p.a, m, rows, k, depth, a);
        for (int64_t j = 0; j < columns; j += kTileColumns)
          for (int64_t i = 0; i < rows; i += kTileRows)
            tile(depth, a + i * depth, b + j * depth, p.c + (m + i) * p.c_rows_apart + n + j, p.c_rows_apart,
                 std::min<int64_t>(kTileRows, rows - i), std::min<int64_t>(kTileColumns, columns - j),
                 p.bias ? p.bias + n + j : nullptr, p.add || k > 0);
      }
    }
  }
}

// Which part of C is whose: threads take the next until none is left, so a team may have fewer than were asked for.
struct Shares {
  const LargeProduct &product;
  int down = 1, across = 1;
  std::atomic<int> next{0};
  std::atomic<bool> short_of_memory{false};

  static int64_t border(int64_t n, int64_t step, int part, int parts) {
    return std::min(n, (n + step - 1) / step * part / parts * step);
  }

  void work() {
    try {
      room.reserve();
    } catch (const std::bad_alloc &) {
      short_of_memory = true;
      return;
    }
    for (int index; (index = next.fetch_add(1)) < down * across;) {
      const int i = index / across, j = index % across;
      piece(product, border(product.m, kTileRows, i, down), border(product.m, kTileRows, i + 1, down),
            border(product.n, kTileColumns, j, across), border(product.n, kTileColumns, j + 1, across));
    }
  }
};

}  // namespace

bool has_large_product() { return __builtin_cpu_supports("avx512f"); }

void large_product(const LargeProduct &product, int threads, Parallel parallel) {
  Shares shares{product};
  if (!parallel) threads = 1;
  // Threads below each other pack the same of B, threads beside each other the same of A: as little as possible.
  int64_t least = INT64_MAX;
  for (int down = 1; down <= threads; down++) {
    const int64_t packed = product.n * down + product.m * (threads / down);
    if (threads % down == 0 && packed < least) {
      least = packed;
      shares.down = down;
      shares.across = threads / down;
    }
  }
  if (threads == 1)
    shares.work();
  else
    parallel([](void *data) { static_cast<Shares *>(data)->work(); }, &shares, (unsigned)threads, 0);
  if (shares.short_of_memory) throw std::bad_alloc();
}

}  // namespace gf
