// From hidden states to candidates: the projection to the vocabulary in pieces, none of which is kept.
#pragma once

#include <memory>
#include <vector>

#include "forward.h"

namespace gf {

// A token that a row treats specially: its logit is wanted, and it does not compete for the best.
struct Aside {
  int32_t id;
  bool banned;    // else the caller decides what to make of it
  float logit;    // filled in
};

// What one row wants to know of its next token, and what it is told.
struct Question {
  int32_t k = 0;                 // how many best
  bool normalised = true;        // whether log_sum is wanted
  std::vector<Aside> asides;     // rising by id
  float *everything = nullptr;   // null, or room for the logits of the whole list
  std::vector<float> values;     // (k): best logits, falling
  std::vector<int32_t> ids;
  int32_t n = 0;                 // how many there are: fewer than k if the list is short
  size_t next = 0;               // of the asides, while the vocabulary is walked over
  float max = 0.0f, log_sum = 0.0f;  // log-probability = (logit - max) - log_sum

  float log_probability(float logit) const { return normalised ? (logit - max) - log_sum : 0.0f; }
};

// The target ids that a sentence may use, with the part of the projection that belongs to them.
struct Shortlist {
  std::vector<int32_t> ids;  // rising
  Linear output;
};

// The shortlist of these ids, in any order, and some more than once.
std::unique_ptr<Shortlist> make_shortlist(const Model &model, std::vector<int32_t> ids);

// Answers `n` questions about the hidden states of the workspace from row `first` on. shortlist: null, or the only
// ids to consider; ids in questions are always those of the whole vocabulary.
void ask_vocabulary(const Model &model, Workspace &workspace, int first, int n, const Shortlist *shortlist,
                    Question *const *questions, Walk *walks);

}  // namespace gf
