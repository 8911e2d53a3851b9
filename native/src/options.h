// How to decode: the caller's options, checked and copied.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../include/glassformer.h"

namespace gf {

struct Options {
  Options(const gf_options &given, const gf_config &model);

  gf_options plain;                 // its pointers are not used
  std::vector<int32_t> suppressed;  // rising
  int32_t rows;                     // hypotheses of one input side by side
  int32_t first_rows;               // of these, how many there are before the first step

  // The divisor of a sum of log-probabilities, for so many generated tokens.
  double penalty(int64_t length) const {
    const double base = plain.length_penalty == GF_PENALTY_AVERAGE ? (double)length : (5.0 + (double)length) / 6.0;
    return std::pow(base, plain.alpha);
  }
};

}  // namespace gf
