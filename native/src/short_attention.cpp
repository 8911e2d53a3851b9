#include "short_attention.h"

#define GF_ISA training
#include "../kernels/lanes.h"
#include "../kernels/scratch.h"
#include "../kernels/transpose.h"

namespace gf {

namespace {

using namespace training;

constexpr int kRowsAtOnce = 6, kVectorsAtOnce = 4;  // 24 of the 32 registers hold sums

// Row i of the left factor has its element t at data[i * row_apart + t * step].
struct Left {
  const float *data;
  int64_t row_apart, step;
};

template <int rows, int vectors>
GF_INLINE void tile(const Left &left, int64_t row, const float *right, int64_t right_apart, int64_t inner, float *out,
                    int64_t out_apart) {
  Lanes sum[rows][vectors];
  GF_UNROLLED
  for (int i = 0; i < rows; i++)
    GF_UNROLLED
    for (int v = 0; v < vectors; v++) sum[i][v] = all(0.0f);
  const float *a = left.data + row * left.row_apart;
  for (int64_t t = 0; t < inner; t++, a += left.step, right += right_apart) {
    Lanes b[vectors];
    GF_UNROLLED
    for (int v = 0; v < vectors; v++) b[v] = load(right + v * kLanes);
    GF_UNROLLED
    for (int i = 0; i < rows; i++) {
      const Lanes x = all(a[i * left.row_apart]);
      GF_UNROLLED
      for (int v = 0; v < vectors; v++) sum[i][v] = fused(x, b[v], sum[i][v]);
    }
  }
  GF_UNROLLED
  for (int i = 0; i < rows; i++)
    GF_UNROLLED
    for (int v = 0; v < vectors; v++) store(out + (row + i) * out_apart + v * kLanes, sum[i][v]);
}

template <int vectors>
void columns(const Left &left, int64_t rows, const float *right, int64_t right_apart, int64_t inner, float *out,
             int64_t out_apart) {
  int64_t row = 0;
  for (; row + kRowsAtOnce <= rows; row += kRowsAtOnce)
    tile<kRowsAtOnce, vectors>(left, row, right, right_apart, inner, out, out_apart);
  switch (rows - row) {
    case 5: tile<5, vectors>(left, row, right, right_apart, inner, out, out_apart); break;
    case 4: tile<4, vectors>(left, row, right, right_apart, inner, out, out_apart); break;
    case 3: tile<3, vectors>(left, row, right, right_apart, inner, out, out_apart); break;
    case 2: tile<2, vectors>(left, row, right, right_apart, inner, out, out_apart); break;
    case 1: tile<1, vectors>(left, row, right, right_apart, inner, out, out_apart); break;
    default: break;
  }
}

// out = left · right, where `right` and `out` have `width` columns, a multiple of 16.
void multiply(const Left &left, int64_t rows, const float *right, int64_t right_apart, int64_t inner, int64_t width,
              float *out, int64_t out_apart) {
  int64_t at = 0;
  for (; at + kVectorsAtOnce * kLanes <= width; at += kVectorsAtOnce * kLanes)
    columns<kVectorsAtOnce>(left, rows, right + at, right_apart, inner, out + at, out_apart);
  switch ((width - at) / kLanes) {
    case 3: columns<3>(left, rows, right + at, right_apart, inner, out + at, out_apart); break;
    case 2: columns<2>(left, rows, right + at, right_apart, inner, out + at, out_apart); break;
    case 1: columns<1>(left, rows, right + at, right_apart, inner, out + at, out_apart); break;
    default: break;
  }
}

// (n, width) becomes (width, padded), with zeros behind n.
void turn_over(const float *from, int64_t apart, int64_t n, int64_t width, int64_t padded, float *out) {
  for (int64_t row = 0; row < padded; row += kLanes)
    for (int64_t column = 0; column < width; column += kLanes) {
      __m512 square[16];
      for (int i = 0; i < kLanes; i++)
        square[i] = row + i < n ? _mm512_loadu_ps(from + (row + i) * apart + column) : _mm512_setzero_ps();
      transpose(square);
      for (int i = 0; i < kLanes; i++) _mm512_storeu_ps(out + (column + i) * padded + row, square[i]);
    }
}

// Bit i: whether query `query` may look at key `first + i`.
__mmask16 sight(const AttentionShape &shape, const uint8_t *seen, int64_t query, int64_t first) {
  const int64_t end = shape.causal ? least(shape.keys, query + 1) : shape.keys;
  if (end <= first) return 0;
  const uint32_t reach = end - first >= kLanes ? 0xffffu : (1u << (end - first)) - 1;
  if (!seen) return (__mmask16)reach;
  uint32_t bits = 0;
  for (int64_t i = 0; i < least(kLanes, end - first); i++) bits |= (uint32_t)(seen[first + i] != 0) << i;
  return (__mmask16)bits;
}

// A row of scores becomes weights. NaN stays NaN: a training must notice.
void soften(const AttentionShape &shape, const uint8_t *seen, int64_t query, float *row) {
  const int64_t padded = shape.padded();
  __m512 most = _mm512_set1_ps(-__builtin_inff());
  for (int64_t at = 0; at < padded; at += kLanes)
    most = _mm512_mask_max_ps(most, sight(shape, seen, query, at), _mm512_loadu_ps(row + at), most);
  const __m512 max = _mm512_set1_ps(largest({most}) * shape.scale), scale = _mm512_set1_ps(shape.scale);
  Lanes sum = all(0.0f);
  for (int64_t at = 0; at < padded; at += kLanes) {
    const __mmask16 looks = sight(shape, seen, query, at);
    const __m512 below = _mm512_fmsub_ps(_mm512_loadu_ps(row + at), scale, max);
    const __m512 weight = exponential({below}).v;
    const __m512 honest = _mm512_mask_mov_ps(weight, _mm512_cmp_ps_mask(below, below, _CMP_UNORD_Q), below);
    const Lanes kept = {_mm512_maskz_mov_ps(looks, honest)};
    sum = sum + kept;
    store(row + at, kept);
  }
  const float whole = total(sum);
  const Lanes share = all(whole == 0.0f ? 0.0f : 1.0f / whole);
  for (int64_t at = 0; at < padded; at += kLanes) store(row + at, load(row + at) * share);
}

thread_local Scratch room_for_turned, room_for_slopes;

constexpr int64_t kPiecesPerThread = 8;

// Every text and head once, in pieces of whole texts.
template <typename Each>
void for_each_head(const AttentionShape &shape, const Team &team, Each &&each) {
  const int64_t pieces = least(shape.batch, team.threads * kPiecesPerThread);
  team.share(pieces, [&](int64_t piece) {
    for (int64_t b = shape.batch * piece / pieces; b < shape.batch * (piece + 1) / pieces; b++)
      for (int64_t h = 0; h < shape.heads; h++) each(b, h);
  });
}

}  // namespace

void attend(const AttentionShape &shape, const ReadHeads &q, const ReadHeads &k, const ReadHeads &v, float *weights,
            const WriteHeads &out, const Team &team) {
  const int64_t padded = shape.padded();
  for_each_head(shape, team, [&](int64_t b, int64_t h) {
    float *keys = room_for_turned.reserve(shape.d_k * padded), *rows = weights + (b * shape.heads + h) * shape.queries * padded;
    const uint8_t *seen = shape.seen ? shape.seen + b * shape.seen_apart : nullptr;
    turn_over(k.at(b, h), k.position_apart, shape.keys, shape.d_k, padded, keys);
    multiply({q.at(b, h), q.position_apart, 1}, shape.queries, keys, padded, shape.d_k, padded, rows, padded);
    for (int64_t i = 0; i < shape.queries; i++) soften(shape, seen, i, rows + i * padded);
    multiply({rows, padded, 1}, shape.queries, v.at(b, h), v.position_apart, shape.keys, shape.d_v, out.at(b, h),
             out.position_apart);
  });
}

void attend_back(const AttentionShape &shape, const ReadHeads &q, const ReadHeads &k, const ReadHeads &v,
                 const float *weights, const ReadHeads &slope, const WriteHeads &for_q, const WriteHeads &for_k,
                 const WriteHeads &for_v, const Team &team) {
  const int64_t padded = shape.padded();
  for_each_head(shape, team, [&](int64_t b, int64_t h) {
    float *values = room_for_turned.reserve(shape.d_v * padded);
    float *slopes = room_for_slopes.reserve(shape.queries * padded);
    const float *rows = weights + (b * shape.heads + h) * shape.queries * padded;
    const float *given = slope.at(b, h);
    multiply({rows, 1, padded}, shape.keys, given, slope.position_apart, shape.queries, shape.d_v, for_v.at(b, h),
             for_v.position_apart);
    // By the weights, then by the scores: weight · (slope − Σ weight · slope).
    turn_over(v.at(b, h), v.position_apart, shape.keys, shape.d_v, padded, values);
    multiply({given, slope.position_apart, 1}, shape.queries, values, padded, shape.d_v, padded, slopes, padded);
    for (int64_t i = 0; i < shape.queries; i++) {
      const float *weight = rows + i * padded;
      float *row = slopes + i * padded;
      Lanes mean = all(0.0f);
      for (int64_t at = 0; at < padded; at += kLanes) mean = fused(load(weight + at), load(row + at), mean);
      const Lanes middle = all(total(mean)), scale = all(shape.scale);
      for (int64_t at = 0; at < padded; at += kLanes)
        store(row + at, load(weight + at) * (load(row + at) - middle) * scale);
    }
    multiply({slopes, padded, 1}, shape.queries, k.at(b, h), k.position_apart, shape.keys, shape.d_k, for_q.at(b, h),
             for_q.position_apart);
    multiply({slopes, 1, padded}, shape.keys, q.at(b, h), q.position_apart, shape.queries, shape.d_k, for_k.at(b, h),
             for_k.position_apart);
  });
}

}  // namespace gf
