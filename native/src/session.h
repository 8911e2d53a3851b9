// Sentences that are decoded side by side and come and go between steps.
#pragma once

#include <memory>
#include <vector>

#include "sentence.h"

namespace gf {

class Session {
 public:
  // max_rows: the most hypotheses side by side. crew: null, or who helps with large products.
  Session(const Model &model, int32_t max_rows, Crew *crew = nullptr);

  const Model &model() const { return workspace_model_; }
  int32_t free_rows() const { return max_rows_ - used_rows_; }
  int32_t max_rows() const { return max_rows_; }
  int32_t live() const { return live_; }

  // Takes in a sentence, which must fit, and gives its slot. All allocation happens here.
  int32_t add(Query query);
  // Reads what is new, then goes one token further. Gives the slots that became complete in this step.
  const std::vector<int32_t> &step();
  void remove(int32_t slot);
  bool has(int32_t slot) const { return slot >= 0 && slot < (int32_t)slots_.size() && slots_[(size_t)slot]; }
  const Sentence &sentence(int32_t slot) const { return *slots_[(size_t)slot]; }

  static int64_t fixed_bytes(const Model &model, int32_t max_rows);

 private:
  void read_sources();
  void read_prompts();
  void ask();

  const Model &workspace_model_;
  const int32_t max_rows_;
  Workspace workspace_;
  std::vector<std::unique_ptr<Sentence>> slots_;
  std::vector<int32_t> waiting_, order_, done_, free_slots_;
  int32_t used_rows_ = 0, live_ = 0;
  // Of the rows of a step:
  std::vector<Row> rows_;
  std::vector<Question *> questions_;
  std::vector<const Shortlist *> lists_;
  std::vector<Walk> walks_;
  std::vector<Source> sources_;
};

// The hypotheses that are computed together best, if the caller does not say.
int32_t default_rows(const Model &model);

}  // namespace gf
