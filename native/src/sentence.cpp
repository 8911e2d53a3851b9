#include "sentence.h"

#include <algorithm>

namespace gf {

namespace {

// What a query demands is always on its list.
std::unique_ptr<Shortlist> own_shortlist(const Model &model, const Query &query) {
  if (query.shortlist.empty()) return nullptr;
  std::vector<int32_t> ids = query.shortlist;
  ids.push_back(query.options->plain.end_id);
  ids.insert(ids.end(), query.prefix.begin(), query.prefix.end());
  return make_shortlist(model, std::move(ids));
}

}  // namespace

int64_t Sentence::positions(const Model &model, int64_t input, int64_t prefix, int64_t limit) {
  return (model.has_encoder() ? 0 : input - 1) + prefix + limit;
}

int64_t Sentence::lines(const Model &model, const Options &options, int64_t input, int64_t prefix, int64_t limit) {
  return (model.has_encoder() ? 0 : input - 1) + (prefix + limit) * options.rows;
}

int64_t Sentence::bytes(const Model &model, const Options &options, int64_t input, int64_t limit) {
  const HeadShape &heads = model.heads;
  const int64_t layers = (int64_t)model.decoder.layers.size(), rows = options.rows, list = model.config.vocab_size;
  const int64_t cache = layers * lines(model, options, input, 0, limit) * model.line_width;
  const int64_t source = model.has_encoder() ? round_up(input, 16) : 0;
  const int64_t memory = layers * source * heads.key_heads * (heads.d_k + heads.value_width);
  const int64_t tables = rows * (4 * limit + 2 * positions(model, input, 0, limit) + 4 * options.plain.beam + 64);
  const int64_t rules = rows * 3 * (2 * limit + (int64_t)options.suppressed.size() + 16);
  const int64_t sampling = options.plain.sampling ? (rows + 3) * list : 0;
  const int64_t alignment = options.plain.want_alignment ? (rows + options.plain.nbest + 1) * limit * input : 0;
  return 4 * (cache + memory + tables + rules + sampling + alignment + 3 * (options.plain.nbest + 1) * limit + 4096);
}

Sentence::Sentence(const Model &model, Query asked)
    : query(std::move(asked)), model_(model), options_(*query.options), shortlist_(own_shortlist(model, query)) {
  const int64_t input = (int64_t)query.ids.size(), prefix = (int64_t)query.prefix.size();
  const size_t width = (size_t)options_.rows;
  prompt_ = model.has_encoder() ? 0 : (int32_t)input - 1;
  lengths_ = prefix + query.limit;
  positions_ = positions(model, input, prefix, query.limit);
  store.prepare(model, model.has_encoder() ? (int32_t)input : 0, lines(model, options_, input, prefix, query.limit));
  for (std::vector<int32_t> *each : {&tokens_, &old_tokens_}) each->resize(width * (size_t)lengths_);
  for (std::vector<float> *each : {&own_, &old_own_}) each->resize(width * (size_t)lengths_);
  for (std::vector<int32_t> *each : {&lines_, &old_lines_}) each->resize(width * (size_t)positions_);
  for (std::vector<double> *each : {&total_, &old_total_}) each->resize(width);
  for (size_t r = 0; r < width; r++)
    for (int32_t p = 0; p < prompt_; p++) lines_[r * (size_t)positions_ + (size_t)p] = p;
  if (options_.plain.want_alignment) attention_.resize(width * (size_t)(lengths_ * input));
  const int64_t list = shortlist_ ? (int64_t)shortlist_->ids.size() : model.config.vocab_size;
  const int32_t k = options_.plain.sampling ? 0 : options_.plain.beam == 1 ? 1 : 2 * options_.plain.beam;
  const size_t most_asides = options_.suppressed.size() + 1 + (size_t)lengths_ + query.forbidden.size();
  const bool rules = options_.plain.no_repeat_ngram || options_.plain.repetition_penalty != 1.0;
  questions_.resize(width);
  for (Question &question : questions_) {
    question.values.resize((size_t)k);
    question.ids.resize((size_t)k);
    question.asides.reserve(rules ? most_asides + (size_t)lengths_ : most_asides);
  }
  priced_.reserve((size_t)k + (size_t)lengths_ + 1);
  candidates_.reserve(width * (size_t)std::max(k, 1));
  chosen_.reserve(width);
  row_order_.resize(width);
  if (options_.plain.sampling) {
    logits_.resize(width * (size_t)list);
    chances_.resize((size_t)list);
    order_.resize((size_t)list);
    dice_ = query.dice;
    old_dice_.resize(width);
  }
  found_.reserve(options_.plain.nbest, lengths_, options_.plain.want_alignment ? lengths_ * input : 0);
  rows_ = options_.first_rows;
}

Row Sentence::row(int32_t r) {
  const int64_t position = prompt_ + said_;
  const int64_t line = prompt_ + (int64_t)said_ * options_.rows + r;
  lines_[(size_t)(r * positions_ + position)] = (int32_t)line;
  int32_t token = model_.has_encoder() ? options_.plain.start_id : query.ids.back();
  if (said_) token = tokens_[(size_t)(r * lengths_ + said_ - 1)];
  const int64_t source = (int64_t)query.ids.size();
  float *attention = attention_.empty() ? nullptr : attention_.data() + (line - prompt_) * source;
  return {&store, token, position, lines_.data() + r * positions_, attention,
          {options_.plain.alignment_layer, options_.plain.alignment_head}};
}

Row Sentence::prompt_row(int32_t position) {
  return {&store, query.ids[(size_t)position], position, lines_.data(), nullptr, {0, -1}};
}

Question &Sentence::question(int32_t r) {
  Question &question = questions_[(size_t)r];
  const bool greedy = !options_.plain.sampling && options_.plain.beam == 1;
  question.k = forced() ? 0 : (int32_t)question.values.size();
  // Greedy search compares nothing but the logits of one row, unless a rule changes some of them.
  question.normalised = !greedy || options_.plain.want_scores || options_.plain.repetition_penalty != 1.0;
  if (options_.plain.sampling)
    question.everything = logits_.data() + (int64_t)r * (int64_t)chances_.size();
  write_rules(r, question);
  return question;
}

// What may come next. A token that is forbidden for one reason may be so for another: each is listed once.
void Sentence::write_rules(int32_t r, Question &question) const {
  std::vector<Aside> &asides = question.asides;
  asides.clear();
  if (forced()) {
    asides.push_back({query.prefix[(size_t)said_], false, 0.0f});
    return;
  }
  const int32_t *said = tokens_.data() + r * lengths_;
  for (int32_t id : options_.suppressed) asides.push_back({id, true, 0.0f});
  bool sorted = true;
  if (length() + 1 < options_.plain.min_length) {
    asides.push_back({options_.plain.end_id, true, 0.0f});
    sorted = false;
  }
  for (const std::vector<int32_t> &sequence : query.forbidden) {
    const int32_t before = (int32_t)sequence.size() - 1;
    if (before > said_ || !std::equal(sequence.begin(), sequence.end() - 1, said + said_ - before)) continue;
    asides.push_back({sequence.back(), true, 0.0f});
    sorted = false;
  }
  if (options_.plain.no_repeat_ngram && said_ >= options_.plain.no_repeat_ngram) {
    forbid_repeated(r, asides);
    sorted = false;
  }
  if (options_.plain.repetition_penalty != 1.0 && said_) {
    for (int32_t t = 0; t < said_; t++) asides.push_back({said[t], false, 0.0f});
    sorted = false;
  }
  if (sorted) return;
  std::sort(asides.begin(), asides.end(),
            [](const Aside &a, const Aside &b) { return a.id != b.id ? a.id < b.id : a.banned > b.banned; });
  asides.erase(std::unique(asides.begin(), asides.end(), [](const Aside &a, const Aside &b) { return a.id == b.id; }),
               asides.end());
}

// Forbids every token that would say a sequence of n tokens a second time.
void Sentence::forbid_repeated(int32_t r, std::vector<Aside> &asides) const {
  const int32_t n = options_.plain.no_repeat_ngram;
  const int32_t *said = tokens_.data() + r * lengths_, *newest = said + said_ - (n - 1);
  for (int32_t at = 0; at + n <= said_; at++)
    if (std::equal(newest, newest + (n - 1), said + at)) asides.push_back({said[at + n - 1], true, 0.0f});
}

void Sentence::advance() {
  if (options_.plain.sampling)
    draw();
  else
    search();
}

// Makes each of n rows the continuation of its parent.
void Sentence::continue_from(const Candidate *chosen, int32_t n) {
  std::swap(tokens_, old_tokens_);
  std::swap(own_, old_own_);
  std::swap(lines_, old_lines_);
  const int64_t seen = prompt_ + said_ + 1;
  for (int32_t r = 0; r < n; r++) {
    const int32_t parent = chosen[r].parent;
    std::copy_n(old_tokens_.begin() + parent * lengths_, said_, tokens_.begin() + r * lengths_);
    std::copy_n(old_own_.begin() + parent * lengths_, said_, own_.begin() + r * lengths_);
    std::copy_n(old_lines_.begin() + parent * positions_, seen, lines_.begin() + r * positions_);
    tokens_[(size_t)(r * lengths_ + said_)] = chosen[r].token;
    own_[(size_t)(r * lengths_ + said_)] = chosen[r].own;
    total_[(size_t)r] = chosen[r].total;
  }
  rows_ = n;
  said_++;
}

void Sentence::write_hypothesis(int32_t r, double total, const Candidate *last, bool finished) {
  Hypothesis &spare = found_.spare();
  const int32_t *ids = tokens_.data() + r * lengths_;
  const float *own = own_.data() + r * lengths_;
  spare.ids.assign(ids, ids + said_);
  spare.log_probabilities.assign(own, own + said_);
  if (last && !finished) spare.ids.push_back(last->token);
  if (last) spare.log_probabilities.push_back(last->own);
  spare.finished = finished;
  spare.n_forced = std::min((int32_t)query.prefix.size(), (int32_t)spare.ids.size());
  spare.log_probability = 0.0;
  for (size_t t = (size_t)spare.n_forced; t < spare.log_probabilities.size(); t++)
    spare.log_probability += (double)spare.log_probabilities[t];
  const int64_t chosen = (int64_t)spare.log_probabilities.size() - spare.n_forced;
  if (options_.plain.sampling) total = spare.log_probability;
  spare.score = total / options_.penalty(std::max<int64_t>(chosen, 1));
  spare.attention.clear();
  const int64_t source = (int64_t)query.ids.size();
  for (size_t t = 0; !attention_.empty() && t < spare.log_probabilities.size(); t++) {
    const float *row = attention_.data() + (lines_[(size_t)(r * positions_ + (int64_t)t)] - prompt_) * source;
    spare.attention.insert(spare.attention.end(), row, row + source);
  }
}

int32_t Sentence::certain(const int32_t *&ids, const float *&log_probabilities) const {
  int32_t shared = -1;
  ids = nullptr;
  log_probabilities = nullptr;
  auto compare = [&](const int32_t *other, const float *own, int32_t n) {
    if (shared < 0) {
      ids = other;
      log_probabilities = own;
      shared = n;
    }
    shared = (int32_t)(std::mismatch(ids, ids + std::min(shared, n), other).first - ids);
  };
  for (int32_t i = 0; i < found_.size(); i++)
    compare(found_[i].ids.data(), found_[i].log_probabilities.data(), (int32_t)found_[i].ids.size());
  if (options_.plain.sampling && shared >= 0) return shared;
  for (int32_t r = 0; !done_ && r < (options_.plain.sampling ? 1 : rows_); r++)
    compare(tokens_.data() + r * lengths_, own_.data() + r * lengths_, said_);
  return std::max(shared, 0);
}

}  // namespace gf
