// The label-smoothed cross-entropy of rows of logits and its gradient, for training.
#pragma once

#include "team.h"

namespace gf {

// Each row of logits (rows, width) becomes the gradient of its loss: softmax less the smoothed target, which has
// 1 - smoothing at the target and smoothing / width everywhere. `nll` and `uniform` (rows) get the negative
// log-likelihoods of the target and, on average, of all tokens.
void smoothed_loss(float *logits, int64_t rows, int64_t width, const int64_t *targets, float smoothing, float *nll,
                   float *uniform, const Team &team);

}  // namespace gf
