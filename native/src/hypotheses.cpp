#include "hypotheses.h"

#include <utility>

namespace gf {

void Found::reserve(int32_t places, int64_t length, int64_t attention) {
  places_ = places;
  n_ = 0;
  kept_.resize((size_t)places + 1);
  for (Hypothesis &each : kept_) {
    each.ids.reserve((size_t)length);
    each.log_probabilities.reserve((size_t)length + 1);
    each.attention.reserve((size_t)attention);
  }
}

void Found::add() {
  for (int32_t i = 0; i < n_; i++)
    if (kept_[(size_t)i].ids == spare().ids) return;
  if (!spare().finished && full()) return;
  sort_in();
  if (n_ < places_) n_++;  // else the worst has become the spare one
}

void Found::add_sample() {
  for (size_t at = (size_t)n_; at > 0 && kept_[at].score > kept_[at - 1].score; at--)
    std::swap(kept_[at], kept_[at - 1]);
  n_++;
}

// Moves the spare one to its place among the others; of equals the earlier stays ahead.
void Found::sort_in() {
  auto better = [](const Hypothesis &a, const Hypothesis &b) {
    return a.finished != b.finished ? a.finished : a.score > b.score;
  };
  for (size_t at = (size_t)n_; at > 0 && better(kept_[at], kept_[at - 1]); at--) std::swap(kept_[at], kept_[at - 1]);
}

}  // namespace gf
