// Scaled dot-product attention for few queries: over a memory that queries share, or over lines of a cache.
#pragma once

#include "kernels.h"
#include "lanes.h"

namespace gf {
namespace GF_ISA {

// Scores of one row to weights that are not yet divided by their sum, which it gives. Lanes behind n become 0.
GF_INLINE float soften(float *scores, int n, int padded) {
  const int whole = n / kLanes * kLanes;
  const Lanes nothing = all(-__builtin_inff());
  if (whole < padded) store(scores + whole, first_lanes(n - whole, load(scores + whole), nothing));
  Lanes most = nothing;
  for (int i = 0; i < padded; i += kLanes) most = larger(load(scores + i), most);
  const Lanes max = all(largest(most));
  Lanes sum = all(0.0f);
  for (int i = 0; i < padded; i += kLanes) {
    Lanes weight = exponential(load(scores + i) - max);
    if (i == whole) weight = first_lanes(n - whole, weight, all(0.0f));
    store(scores + i, weight);
    sum = sum + weight;
  }
  return total(sum);
}

// Scores of `count` queries of one head with the memory; each row of them has `padded` floats.
template <int count>
GF_INLINE void score_memory(const float *keys, int d_k, int padded, const float *q, int64_t stride, float scale,
                            float *scores) {
  for (int at = 0; at < padded; at += 2 * kLanes) {
    const bool two = at + kLanes < padded;
    const int second = two ? kLanes : 0;
    Lanes left[count], right[count];
    GF_UNROLLED
    for (int r = 0; r < count; r++) left[r] = right[r] = all(0.0f);
    const float *key = keys + at;
    for (int d = 0; d < d_k; d++, key += padded) {
      const Lanes a = load(key), b = load(key + second);
      GF_UNROLLED
      for (int r = 0; r < count; r++) {
        const Lanes x = all(q[r * stride + d]);
        left[r] = left[r] + x * a;
        right[r] = right[r] + x * b;
      }
    }
    GF_UNROLLED
    for (int r = 0; r < count; r++) {
      store(scores + r * padded + at, left[r] * all(scale));
      if (two) store(scores + r * padded + at + kLanes, right[r] * all(scale));
    }
  }
}

// out = Σ weight · value / sum for `count` rows, 16 or 32 features at a time.
template <int count>
GF_INLINE void mix_memory(const float *values, int width, int n, int padded, const float *weights, const float *sums,
                          float *out, int64_t stride) {
  for (int at = 0; at < width; at += 2 * kLanes) {
    const bool two = at + kLanes < width;
    const int second = two ? kLanes : 0;
    Lanes left[count], right[count];
    GF_UNROLLED
    for (int r = 0; r < count; r++) left[r] = right[r] = all(0.0f);
    const float *value = values + at;
    for (int s = 0; s < n; s++, value += width) {
      const Lanes a = load(value), b = load(value + second);
      GF_UNROLLED
      for (int r = 0; r < count; r++) {
        const Lanes weight = all(weights[r * padded + s]);
        left[r] = left[r] + weight * a;
        right[r] = right[r] + weight * b;
      }
    }
    GF_UNROLLED
    for (int r = 0; r < count; r++) {
      const Lanes inverse = all(1.0f / sums[r]);
      store(out + r * stride + at, left[r] * inverse);
      if (two) store(out + r * stride + at + kLanes, right[r] * inverse);
    }
  }
}

template <int count>
GF_INLINE void look_together(const HeadShape &shape, const MemoryView &memory, int head, const float *q,
                             int64_t stride, const float *bias, float *out, int64_t out_stride, float *weights,
                             float *scratch) {
  const int group = head / (shape.heads / shape.key_heads), padded = memory.padded;
  const float *keys = memory.keys + (int64_t)group * shape.d_k * padded;
  const float *values = memory.values + (int64_t)group * memory.length * shape.value_width;
  score_memory<count>(keys, shape.d_k, padded, q + head * shape.key_width, stride, shape.scale, scratch);
  float sums[count];
  GF_UNROLLED
  for (int r = 0; r < count; r++) {
    float *scores = scratch + r * padded;
    if (bias)
      for (int s = 0; s < memory.length; s++) scores[s] += bias[s - r];
    sums[r] = soften(scores, memory.length, padded);
    if (weights) {
      float *kept = weights + ((int64_t)r * shape.heads + head) * padded;
      for (int s = 0; s < padded; s += kLanes) store(kept + s, load(scores + s) * all(1.0f / sums[r]));
    }
  }
  mix_memory<count>(values, shape.value_width, memory.length, padded, scratch, sums,
                    out + head * shape.value_width, out_stride);
}

// Heads are the outer loop: the keys and values of one head stay in the nearest cache for all rows.
static void look_at_memory(const HeadShape &shape, const MemoryView &memory, const float *q, int64_t stride, int rows,
                           const float *bias, int64_t bias_stride, float *out, int64_t out_stride, float *weights,
                           float *scratch) {
  for (int head = 0; head < shape.heads; head++) {
    int row = 0;
    for (; row < rows; row += 4) {
      const float *from = q + row * stride, *by = bias ? bias + head * bias_stride - row : nullptr;
      float *to = out + row * out_stride;
      float *kept = weights ? weights + (int64_t)row * shape.heads * memory.padded : nullptr;
      switch (rows - row) {
        case 1: look_together<1>(shape, memory, head, from, stride, by, to, out_stride, kept, scratch); break;
        case 2: look_together<2>(shape, memory, head, from, stride, by, to, out_stride, kept, scratch); break;
        case 3: look_together<3>(shape, memory, head, from, stride, by, to, out_stride, kept, scratch); break;
        default: look_together<4>(shape, memory, head, from, stride, by, to, out_stride, kept, scratch);
      }
    }
  }
}

static void look_back(const HeadShape &shape, const float *const *lines, int n, const float *q, const float *bias,
                      int64_t bias_stride, float *out, float *scratch) {
  const int padded = (n + kLanes - 1) / kLanes * kLanes;
  const int values_at = shape.key_heads * shape.key_width;
  for (int head = 0; head < shape.heads; head++) {
    const int group = head / (shape.heads / shape.key_heads);
    const float *query = q + head * shape.key_width;
    const int64_t key_at = (int64_t)group * shape.key_width;
    const int64_t value_at = values_at + (int64_t)group * shape.value_width;
    for (int at = 0; at < padded; at += kLanes) {
      Lanes dots[kLanes];
      GF_UNROLLED
      for (int i = 0; i < kLanes; i++) {
        const float *key = lines[at + i < n ? at + i : n - 1] + key_at;  // lanes behind n are not looked at
        Lanes dot = load(query) * load(key);
        for (int d = kLanes; d < shape.key_width; d += kLanes) dot = dot + load(query + d) * load(key + d);
        dots[i] = dot;
      }
      store(scratch + at, totals(dots) * all(shape.scale));
    }
    if (bias)
      for (int u = 0; u < n; u++) scratch[u] += bias[head * bias_stride + u];
    const Lanes inverse = all(1.0f / soften(scratch, n, padded));
    for (int at = 0; at < shape.value_width; at += 2 * kLanes) {
      const bool two = at + kLanes < shape.value_width;
      const int second = two ? kLanes : 0;
      Lanes left = all(0.0f), right = all(0.0f);
      for (int u = 0; u < n; u++) {
        const float *value = lines[u] + value_at + at;
        const Lanes weight = all(scratch[u]);
        left = left + weight * load(value);
        right = right + weight * load(value + second);
      }
      store(out + head * shape.value_width + at, left * inverse);
      if (two) store(out + head * shape.value_width + at + kLanes, right * inverse);
    }
  }
}

}  // namespace GF_ISA
}  // namespace gf
