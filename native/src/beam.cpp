// Beam search: which continuations live on, which end, and when nothing better can come.
#include <algorithm>
#include <limits>

#include "sentence.h"

namespace gf {

// What each continuation of a row costs, best first. A forced token costs nothing: it was not chosen.
void Sentence::price(int32_t r) {
  const Question &question = questions_[(size_t)r];
  priced_.clear();
  if (forced()) {
    const Aside &only = question.asides.front();
    priced_.push_back({0.0f, question.log_probability(only.logit), only.id});
    return;
  }
  for (int32_t i = 0; i < question.n; i++) {
    const float own = question.log_probability(question.values[(size_t)i]);
    priced_.push_back({own, own, question.ids[(size_t)i]});
  }
  if (options_.plain.repetition_penalty == 1.0) return;
  for (const Aside &aside : question.asides) {
    const float own = question.log_probability(aside.logit);
    if (aside.banned || !(own > -std::numeric_limits<float>::infinity())) continue;
    priced_.push_back({own * (float)options_.plain.repetition_penalty, own, aside.id});
  }
  std::sort(priced_.begin(), priced_.end(), [](const Priced &a, const Priced &b) {
    return a.price != b.price ? a.price > b.price : a.token < b.token;
  });
  if ((int32_t)priced_.size() > question.k) priced_.resize((size_t)question.k);
}

void Sentence::search() {
  const int32_t beam = options_.plain.beam;
  candidates_.clear();
  for (int32_t r = 0; r < rows_; r++) {
    price(r);
    for (const Priced &each : priced_)
      candidates_.push_back({total_[(size_t)r] + (double)each.price, each.own, r, each.token,
                             (int32_t)candidates_.size()});
  }
  // Twice as many as the beam is wide are looked at: each row can end in one way only, so enough live on.
  const size_t looked_at = std::min(candidates_.size(), (size_t)(2 * beam));
  std::partial_sort(candidates_.begin(), candidates_.begin() + (int64_t)looked_at, candidates_.end(),
                    [](const Candidate &a, const Candidate &b) {
                      return a.total != b.total ? a.total > b.total : a.order < b.order;
                    });
  chosen_.clear();
  for (size_t i = 0; i < looked_at; i++) {
    const Candidate &each = candidates_[i];
    if (!(each.total > -std::numeric_limits<double>::infinity())) break;
    // Nor can anything come of one that is too far behind what was found, nor of those behind it.
    if (found_.full() && beam > 1 && each.total / largest_penalty(length() + 1) < worst_found()) break;
    if (each.token != options_.plain.end_id) {
      if ((int32_t)chosen_.size() < beam) chosen_.push_back(each);
    } else if ((int32_t)i < beam) {
      write_hypothesis(each.parent, each.total, &each, true);
      found_.add();
      ended_++;
    }
  }
  if (chosen_.empty()) {
    if (!found_.size()) give_up();  // everything is forbidden: what there is must do
    done_ = true;
    return;
  }
  continue_from(chosen_.data(), (int32_t)chosen_.size());
  if (length() >= query.limit) {
    give_up();
    done_ = true;
  } else {
    done_ = settled();
  }
}

// The largest divisor that a hypothesis of at least so many tokens can meet; divisors rise or fall, never both.
double Sentence::largest_penalty(int32_t least) const {
  return std::max(options_.penalty(std::max(least, 1)), options_.penalty(query.limit));
}

// Whether no live hypothesis can still become one of the results: log-probabilities only fall, so the best sum,
// divided by the largest penalty that can still be met, bounds every score to come.
bool Sentence::settled() const {
  if (options_.plain.beam == 1) return found_.size() > 0;
  if (!found_.full()) return false;
  if (options_.plain.stop_after && ended_ >= options_.plain.stop_after) return true;
  const double best = *std::max_element(total_.begin(), total_.begin() + rows_);
  return worst_found() >= best / largest_penalty(length() + 1);
}

// Fills the results up with unfinished hypotheses, best first.
void Sentence::give_up() {
  for (int32_t r = 0; r < rows_; r++) row_order_[(size_t)r] = r;
  std::sort(row_order_.begin(), row_order_.begin() + rows_, [this](int32_t a, int32_t b) {
    return total_[(size_t)a] != total_[(size_t)b] ? total_[(size_t)a] > total_[(size_t)b] : a < b;
  });
  for (int32_t i = 0; i < rows_; i++) {
    const int32_t r = row_order_[(size_t)i];
    write_hypothesis(r, total_[(size_t)r], nullptr, false);
    found_.add();
  }
}

}  // namespace gf
