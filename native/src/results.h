// Hypotheses of many inputs in the flat arrays that callers read.
#pragma once

#include <vector>

#include "../include/glassformer.h"
#include "hypotheses.h"

namespace gf {

class Results : public gf_results {
 public:
  // The hypotheses of each input, best first.
  Results(const std::vector<std::vector<Hypothesis>> &found, bool with_alignment);

 private:
  std::vector<int64_t> hypotheses_, id_offsets_, token_offsets_, alignment_offsets_;
  std::vector<int32_t> ids_, n_forced_;
  std::vector<float> tokens_, alignment_;
  std::vector<double> scores_, sums_;
  std::vector<uint8_t> finished_;
};

}  // namespace gf
