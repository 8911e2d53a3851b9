// Whole batches: decoding them, and scoring given outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hypotheses.h"
#include "model.h"

namespace gf {

// For each input its hypotheses, best first.
std::vector<std::vector<Hypothesis>> translate(const Model &model, const gf_batch &batch, const gf_options &options);

// For each input the one hypothesis that is its given output, with the log-probability of every token.
std::vector<std::vector<Hypothesis>> score(const Model &model, const gf_batch &batch, const int32_t *targets,
                                           const int64_t *target_offsets, const uint8_t *finished,
                                           const gf_options &options);

// Runs the same work in n threads, this one included; the first exception of any of them is thrown here.
void in_threads(int32_t n, const std::function<void()> &work);
void check_cancelled(const gf_options &options);

}  // namespace gf
