#include "session.h"

#include <algorithm>

namespace gf {

namespace {

// Source tokens that are encoded together: enough for the products, few enough for the cache.
constexpr int32_t kSourceTokens = 192;

}  // namespace

// Few rows keep what they work on in the cache; but weights that do not stay there want many rows each time they are
// fetched.
int32_t default_rows(const Model &model) { return model.fits_cache() ? 64 : 128; }

Session::Session(const Model &model, int32_t max_rows, Crew *crew)
    : workspace_model_(model), max_rows_(max_rows), workspace_(model, crew) {
  const size_t rows = (size_t)std::max(max_rows, kSourceTokens);
  rows_.reserve(rows);
  questions_.reserve(rows);
  lists_.reserve(rows);
  walks_.resize(rows);
  workspace_.reserve((int64_t)rows, 64);
}

int64_t Session::fixed_bytes(const Model &model, int32_t max_rows) {
  const int64_t rows = std::max(max_rows, kSourceTokens);
  const int64_t longest = model.config.max_length;  // a longer source needs more rows, too
  return Workspace::bytes(model, std::max(rows, longest), longest) + rows * 128;
}

int32_t Session::add(Query query) {
  const int64_t input = (int64_t)query.ids.size();
  const int64_t positions =
      Sentence::positions(workspace_model_, input, (int64_t)query.prefix.size(), query.limit);
  const int32_t width = query.options->rows;
  auto sentence = std::make_unique<Sentence>(workspace_model_, std::move(query));
  workspace_.reserve(workspace_model_.has_encoder() ? std::max(input, workspace_.rows()) : workspace_.rows(),
                     std::max(input, positions));
  if (free_slots_.empty()) {
    slots_.reserve(slots_.size() + 1);
    for (std::vector<int32_t> *each : {&waiting_, &order_, &done_, &free_slots_}) each->reserve(slots_.size() + 1);
    sources_.reserve(slots_.size() + 1);
    free_slots_.push_back((int32_t)slots_.size());
    slots_.emplace_back();
  }
  const int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[(size_t)slot] = std::move(sentence);
  waiting_.push_back(slot);
  used_rows_ += width;
  live_++;
  return slot;
}

void Session::remove(int32_t slot) {
  const Sentence &sentence = *slots_[(size_t)slot];
  if (!sentence.done()) {
    used_rows_ -= sentence.query.options->rows;
    live_--;
  }
  for (std::vector<int32_t> *each : {&waiting_, &order_})
    each->erase(std::remove(each->begin(), each->end(), slot), each->end());
  slots_[(size_t)slot].reset();
  free_slots_.push_back(slot);
}

void Session::read_sources() {
  for (size_t at = 0; at < waiting_.size();) {
    sources_.clear();
    int64_t tokens = 0;
    for (; at < waiting_.size(); at++) {
      Sentence &next = *slots_[(size_t)waiting_[at]];
      const int32_t length = (int32_t)next.query.ids.size();
      if (tokens && tokens + length > kSourceTokens) break;
      sources_.push_back({next.query.ids.data(), length, &next.store});
      tokens += length;
    }
    workspace_.encode(sources_.data(), (int)sources_.size());
  }
}

void Session::read_prompts() {
  const int32_t most = (int32_t)rows_.capacity();
  for (int32_t slot : waiting_) {
    Sentence &sentence = *slots_[(size_t)slot];
    for (int32_t at = 0; at < sentence.prompt();) {
      rows_.clear();
      for (; at < sentence.prompt() && (int32_t)rows_.size() < most; at++) rows_.push_back(sentence.prompt_row(at));
      workspace_.decode(rows_.data(), (int)rows_.size());
    }
  }
}

// Rows behind each other with the same list of ids are asked about together.
void Session::ask() {
  const int n = (int)rows_.size();
  for (int first = 0; first < n;) {
    int last = first + 1;
    while (last < n && lists_[(size_t)last] == lists_[(size_t)first]) last++;
    ask_vocabulary(workspace_model_, workspace_, first, last - first, lists_[(size_t)first],
                   questions_.data() + first, walks_.data());
    first = last;
  }
}

const std::vector<int32_t> &Session::step() {
  done_.clear();
  if (!waiting_.empty()) {
    if (workspace_model_.has_encoder())
      read_sources();
    else
      read_prompts();
    order_.insert(order_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
  }
  if (order_.empty()) return done_;
  rows_.clear();
  questions_.clear();
  lists_.clear();
  for (int32_t slot : order_) {
    Sentence &sentence = *slots_[(size_t)slot];
    for (int32_t r = 0; r < sentence.rows(); r++) {
      rows_.push_back(sentence.row(r));
      questions_.push_back(&sentence.question(r));
      lists_.push_back(sentence.shortlist());
    }
  }
  workspace_.decode(rows_.data(), (int)rows_.size());
  ask();
  for (int32_t slot : order_) {
    Sentence &sentence = *slots_[(size_t)slot];
    sentence.advance();
    if (!sentence.done()) continue;
    done_.push_back(slot);
    used_rows_ -= sentence.query.options->rows;
    live_--;
  }
  order_.erase(std::remove_if(order_.begin(), order_.end(), [this](int32_t slot) { return slots_[(size_t)slot]->done(); }),
               order_.end());
  return done_;
}

}  // namespace gf
