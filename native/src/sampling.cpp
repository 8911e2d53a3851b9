// Drawing outputs at random: temperature, then top-k, then top-p, then min-p.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sentence.h"

namespace gf {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Logits to probabilities, in place.
void soften(std::vector<double> &x) {
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0.0;
  for (double &each : x) sum += each = std::exp(each - max);
  for (double &each : x) each /= sum;
}

}  // namespace

// The place on the list that a number from 0 to 1 falls on. `stuck`: nothing may be said.
int32_t Sentence::drawn(const Question &question, double number, bool &stuck) {
  const int32_t size = (int32_t)chances_.size();
  const gf_options &plain = options_.plain;
  for (int32_t i = 0; i < size; i++) chances_[(size_t)i] = (double)question.log_probability(question.everything[i]);
  for (const Aside &aside : question.asides) {
    int32_t at = aside.id;
    if (shortlist_) {
      const auto found = std::lower_bound(shortlist_->ids.begin(), shortlist_->ids.end(), aside.id);
      if (found == shortlist_->ids.end() || *found != aside.id) continue;
      at = (int32_t)(found - shortlist_->ids.begin());
    }
    double &chance = chances_[(size_t)at];
    chance = aside.banned ? kNever : (double)((float)chance * (float)plain.repetition_penalty);
  }
  const auto best = std::max_element(chances_.begin(), chances_.end());
  stuck = !(*best > kNever);
  if (stuck) return 0;
  if (plain.temperature == 0.0) return (int32_t)(best - chances_.begin());
  for (double &each : chances_) each /= plain.temperature;

  auto by_chance = [this](int32_t a, int32_t b) {
    return chances_[(size_t)a] != chances_[(size_t)b] ? chances_[(size_t)a] > chances_[(size_t)b] : a < b;
  };
  std::iota(order_.begin(), order_.end(), 0);
  if (plain.top_k > 0 && plain.top_k < size) {
    std::nth_element(order_.begin(), order_.begin() + plain.top_k, order_.end(), by_chance);
    for (int32_t i = plain.top_k; i < size; i++) chances_[(size_t)order_[(size_t)i]] = kNever;
  }
  if (plain.top_p > 0.0 && plain.top_p < 1.0) {
    std::sort(order_.begin(), order_.end(), by_chance);
    const double max = chances_[(size_t)order_[0]];
    double sum = 0.0, before = 0.0;
    for (double each : chances_) sum += std::exp(each - max);
    for (int32_t place : order_) {  // the token that crosses top_p belongs to the set
      double &chance = chances_[(size_t)place];
      const double share = std::exp(chance - max) / sum;
      if (before >= plain.top_p) chance = kNever;
      before += share;
    }
  }
  if (plain.min_p > 0.0) {
    const double least = *std::max_element(chances_.begin(), chances_.end()) + std::log(plain.min_p);
    for (double &each : chances_)
      if (each < least) each = kNever;
  }
  soften(chances_);
  double whole = 0.0, so_far = 0.0;
  for (double each : chances_) whole += each;
  int32_t last = 0;
  for (int32_t i = 0; i < size; i++) {
    so_far += chances_[(size_t)i];
    if (chances_[(size_t)i] > 0.0) last = i;
    if (so_far > number * whole) return i;
  }
  return last;  // rounding may reach past the end
}

void Sentence::draw() {
  chosen_.clear();
  const int32_t prefix = (int32_t)query.prefix.size();
  for (int32_t r = 0; r < rows_; r++) {
    const Question &question = questions_[(size_t)r];
    const double number = dice_[(size_t)r].next();
    bool stuck = false;
    int32_t token;
    float own;
    if (forced()) {
      token = question.asides.front().id;
      own = question.log_probability(question.asides.front().logit);
    } else {
      const int32_t place = drawn(question, number, stuck);
      token = shortlist_ ? shortlist_->ids[(size_t)place] : place;
      own = question.log_probability(question.everything[place]);
    }
    const Candidate next = {0.0, own, r, token, 0};
    const bool ends = !stuck && token == options_.plain.end_id && said_ >= prefix;
    const bool last = said_ + 1 - prefix >= query.limit;
    if (stuck || ends || last) {
      write_hypothesis(r, 0.0, stuck ? nullptr : &next, ends);
      found_.add_sample();
    } else {
      old_dice_[chosen_.size()] = dice_[(size_t)r];
      chosen_.push_back(next);
    }
  }
  continue_from(chosen_.data(), (int32_t)chosen_.size());
  std::swap(dice_, old_dice_);
  done_ = rows_ == 0;
}

}  // namespace gf
