#include "results.h"

namespace gf {

Results::Results(const std::vector<std::vector<Hypothesis>> &found, bool with_alignment) : gf_results() {
  hypotheses_.push_back(0);
  for (std::vector<int64_t> *each : {&id_offsets_, &token_offsets_, &alignment_offsets_}) each->push_back(0);
  for (const std::vector<Hypothesis> &of_input : found) {
    for (const Hypothesis &each : of_input) {
      ids_.insert(ids_.end(), each.ids.begin(), each.ids.end());
      tokens_.insert(tokens_.end(), each.log_probabilities.begin(), each.log_probabilities.end());
      alignment_.insert(alignment_.end(), each.attention.begin(), each.attention.end());
      id_offsets_.push_back((int64_t)ids_.size());
      token_offsets_.push_back((int64_t)tokens_.size());
      alignment_offsets_.push_back((int64_t)alignment_.size());
      scores_.push_back(each.score);
      sums_.push_back(each.log_probability);
      finished_.push_back(each.finished);
      n_forced_.push_back(each.n_forced);
    }
    hypotheses_.push_back((int64_t)scores_.size());
  }
  n = (int32_t)found.size();
  n_hypotheses = (int64_t)scores_.size();
  hypotheses = hypotheses_.data();
  id_offsets = id_offsets_.data();
  ids = ids_.data();
  token_offsets = token_offsets_.data();
  token_log_probabilities = tokens_.data();
  scores = scores_.data();
  log_probabilities = sums_.data();
  finished = finished_.data();
  n_forced = n_forced_.data();
  alignment_offsets = with_alignment ? alignment_offsets_.data() : nullptr;
  alignment = with_alignment ? alignment_.data() : nullptr;
}

}  // namespace gf
