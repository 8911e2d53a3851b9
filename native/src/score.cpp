// What a model thinks of given outputs: many positions at once, the answers being those of one at a time.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "failure.h"
#include "inputs.h"
#include "sentence.h"
#include "translate.h"

namespace gf {

namespace {

constexpr int64_t kRowsAtOnce = 128;

// One thread's scoring: all its buffers.
class Scorer {
 public:
  Scorer(const Model &model, const Options &options) : model_(model), options_(options), workspace_(model, nullptr) {}

  // fed: what the decoder reads; from row `first` on, row i predicts labels[i - first].
  Hypothesis score(const std::vector<int32_t> &input, const std::vector<int32_t> &fed, size_t first,
                   const std::vector<int32_t> &labels, const Shortlist *shortlist) {
    const int32_t source = model_.has_encoder() ? (int32_t)input.size() : 0;
    workspace_.reserve(std::max<int64_t>(kRowsAtOnce, source), std::max<int64_t>(source, (int64_t)fed.size()));
    store_.prepare(model_, source, (int64_t)fed.size());
    if (source) {
      const Source only = {input.data(), source, &store_};
      workspace_.encode(&only, 1);
    }
    lines_.resize(fed.size());
    std::iota(lines_.begin(), lines_.end(), 0);
    Hypothesis result;
    const bool aligned = options_.plain.want_alignment != 0;
    if (aligned) result.attention.resize(fed.size() * input.size());
    for (size_t at = 0; at < fed.size(); at += kRowsAtOnce) {
      check_cancelled(options_.plain);
      rows_.clear();
      for (size_t i = at; i < std::min(fed.size(), at + kRowsAtOnce); i++)
        rows_.push_back({&store_, fed[i], (int64_t)i, lines_.data(),
                         aligned ? result.attention.data() + i * input.size() : nullptr,
                         {options_.plain.alignment_layer, options_.plain.alignment_head}});
      workspace_.decode(rows_.data(), (int)rows_.size());
      ask(at, first, labels, shortlist, result);
    }
    return result;
  }

 private:
  // Takes in the log-probabilities of the labels that the rows from position `at` on predict.
  void ask(size_t at, size_t first, const std::vector<int32_t> &labels, const Shortlist *shortlist,
           Hypothesis &result) {
    const size_t skipped = at < first ? std::min(first - at, rows_.size()) : 0;
    const size_t place = at + skipped - first;
    if (skipped == rows_.size() || place >= labels.size()) return;
    const size_t n = std::min(rows_.size() - skipped, labels.size() - place);
    questions_.resize(std::max(questions_.size(), n));
    pointers_.resize(n);
    walks_.resize(n);
    for (size_t i = 0; i < n; i++) {
      questions_[i].asides.assign(1, {labels[place + i], false, 0.0f});
      pointers_[i] = &questions_[i];
    }
    ask_vocabulary(model_, workspace_, (int)skipped, (int)n, shortlist, pointers_.data(), walks_.data());
    for (size_t i = 0; i < n; i++)
      result.log_probabilities.push_back(questions_[i].log_probability(questions_[i].asides[0].logit));
  }

  const Model &model_;
  const Options &options_;
  Workspace workspace_;
  Store store_;
  std::vector<int32_t> lines_;
  std::vector<Row> rows_;
  std::vector<Question> questions_;
  std::vector<Question *> pointers_;
  std::vector<Walk> walks_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> score(const Model &model, const gf_batch &batch, const int32_t *targets,
                                           const int64_t *target_offsets, const uint8_t *finished,
                                           const gf_options &given) {
  const auto options = std::make_shared<const Options>(given, model.config);
  check_batch(batch, model);
  std::vector<std::vector<Hypothesis>> found((size_t)batch.n);
  if (batch.n == 0) return found;
  check_ragged("target", targets, target_offsets, batch.n, 0, model.config.vocab_size);
  const bool encoder = model.has_encoder();
  for (int32_t i = 0; i < batch.n; i++) {
    const int64_t input = batch.offsets[i + 1] - batch.offsets[i], target = target_offsets[i + 1] - target_offsets[i];
    require((encoder ? 1 : input) + target <= model.config.max_length,
            "target " + std::to_string(i) + " is longer than max_length leaves room for");
  }
  std::atomic<int32_t> next{0};
  in_threads(std::min(options->plain.threads, batch.n), [&] {
    Scorer scorer(model, *options);
    for (int32_t i = next.fetch_add(1); i < batch.n; i = next.fetch_add(1)) {
      const std::vector<int32_t> input(batch.ids + batch.offsets[i], batch.ids + batch.offsets[i + 1]);
      const std::vector<int32_t> target(targets + target_offsets[i], targets + target_offsets[i + 1]);
      const bool ends = !finished || finished[i];
      std::vector<int32_t> labels = target, fed = encoder ? std::vector<int32_t>{options->plain.start_id} : input;
      if (ends) labels.push_back(options->plain.end_id);
      const size_t first = fed.size() - 1;
      fed.insert(fed.end(), target.begin(), target.end());
      std::unique_ptr<Shortlist> shortlist;
      if (batch.shortlist_offsets && batch.shortlist_offsets[i + 1] > batch.shortlist_offsets[i]) {
        std::vector<int32_t> listed(batch.shortlist + batch.shortlist_offsets[i],
                                    batch.shortlist + batch.shortlist_offsets[i + 1]);
        listed.push_back(options->plain.end_id);
        shortlist = make_shortlist(model, std::move(listed));
      }
      Hypothesis result = scorer.score(input, fed, first, labels, shortlist.get());
      result.ids = target;
      result.finished = ends;
      for (float each : result.log_probabilities) result.log_probability += (double)each;
      result.score = result.log_probability;
      found[(size_t)i].push_back(std::move(result));
    }
  });
  return found;
}

}  // namespace gf
