// Attention over short texts, forwards and backwards, for training: all heads of a batch in one call.
#pragma once

#include "team.h"

namespace gf {

// Vectors of d floats in a piece, found by batch, head and position.
template <typename T>
struct HeadsOf {
  T *data;
  int64_t batch_apart, head_apart, position_apart;
  T *at(int64_t batch, int64_t head) const { return data + batch * batch_apart + head * head_apart; }
};
using ReadHeads = HeadsOf<const float>;
using WriteHeads = HeadsOf<float>;

struct AttentionShape {
  int64_t batch, heads, queries, keys;
  int64_t d_k, d_v;         // multiples of 16
  float scale;              // 1 / √d_k
  bool causal;              // a query sees as many keys as it has predecessors, and its own
  const uint8_t *seen;      // (batch, keys), 0 for keys that nobody may look at; null: all are seen
  int64_t seen_apart;       // from one text to the next; 0 where all share a row
  // Keys are padded to whole vectors.
  int64_t padded() const { return (keys + 15) / 16 * 16; }
};

// out = softmax(q kᵀ · scale) v; `weights` is (batch, heads, queries, padded keys), 0 where nobody looks. A query that
// may look at nothing gets 0.
void attend(const AttentionShape &shape, const ReadHeads &q, const ReadHeads &k, const ReadHeads &v, float *weights,
            const WriteHeads &out, const Team &team);

// The gradients by q, k and v, from the one by `out` and the weights that `attend` left.
void attend_back(const AttentionShape &shape, const ReadHeads &q, const ReadHeads &k, const ReadHeads &v,
                 const float *weights, const ReadHeads &slope, const WriteHeads &for_q, const WriteHeads &for_k,
                 const WriteHeads &for_v, const Team &team);

}  // namespace gf
