// One row's walk over the vocabulary: the sum of exponentials and the best k, from pieces that are then forgotten.
#pragma once

#include "kernels.h"
#include "lanes.h"

namespace gf {
namespace GF_ISA {

static void normalise(const float *logits, int width, Walk &walk) {
  const int whole = width / kLanes * kLanes, rest = width - whole;
  const Lanes nothing = all(-__builtin_inff());
  Lanes most = nothing;
  for (int i = 0; i < whole; i += kLanes) most = larger(load(logits + i), most);
  if (rest) most = larger(first_lanes(rest, load(logits + whole), nothing), most);
  const float here = largest(most);
  if (here > walk.max) {
    walk.sum *= total(first_lanes(1, exponential(all(walk.max - here)), all(0.0f)));
    walk.max = here;
  }
  if (!(walk.max > -__builtin_inff())) return;  // nothing but -inf so far
  const Lanes max = all(walk.max);
  Lanes sum = all(0.0f);
  for (int i = 0; i < whole; i += kLanes) sum = sum + exponential(load(logits + i) - max);
  if (rest) sum = sum + first_lanes(rest, exponential(load(logits + whole) - max), all(0.0f));
  walk.sum += total(sum);
}

// Puts a logit in its place among the best; of equal ones the earlier stays ahead.
GF_INLINE void insert(Walk &walk, float value, int32_t id) {
  int at = walk.n < walk.k ? walk.n++ : walk.k - 1;
  for (; at > 0 && walk.values[at - 1] < value; at--) {
    walk.values[at] = walk.values[at - 1];
    walk.ids[at] = walk.ids[at - 1];
  }
  walk.values[at] = value;
  walk.ids[at] = id;
}

static void choose(const float *logits, int width, int32_t first_id, Walk &walk) {
  if (walk.k < 1) return;
  const Lanes nothing = all(-__builtin_inff());
  float least = walk.n < walk.k ? -__builtin_inff() : walk.values[walk.k - 1];
  for (int i = 0; i < width; i += kLanes) {
    Lanes here = load(logits + i);
    if (width - i < kLanes) here = first_lanes(width - i, here, nothing);
    for (uint32_t bits = greater(here, all(least)); bits; bits &= bits - 1) {
      const int at = i + __builtin_ctz(bits);
      if (!(logits[at] > least)) continue;  // `least` has risen since
      insert(walk, logits[at], first_id + at);
      if (walk.n == walk.k) least = walk.values[walk.k - 1];
    }
  }
}

}  // namespace GF_ISA
}  // namespace gf
