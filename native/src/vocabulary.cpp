#include "vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gf {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Takes the logits of special tokens among columns [at, at + width) out of the competition.
void set_aside(Question &question, const Shortlist *shortlist, int at, int width, float *logits) {
  const int64_t end = shortlist ? (int64_t)shortlist->ids[(size_t)(at + width - 1)] + 1 : (int64_t)at + width;
  for (; question.next < question.asides.size() && question.asides[question.next].id < end; question.next++) {
    Aside &aside = question.asides[question.next];
    int64_t column = aside.id;
    if (shortlist) {
      const auto found = std::lower_bound(shortlist->ids.begin() + at, shortlist->ids.begin() + at + width, aside.id);
      if (*found != aside.id) continue;  // not on the list: it keeps its -inf
      column = found - shortlist->ids.begin();
    }
    aside.logit = logits[column - at];
    logits[column - at] = kNever;
  }
}

}  // namespace

std::unique_ptr<Shortlist> make_shortlist(const Model &model, std::vector<int32_t> ids) {
  auto list = std::make_unique<Shortlist>();
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  list->output = model.output.selected(ids.data(), (int32_t)ids.size());
  list->ids = std::move(ids);
  return list;
}

void ask_vocabulary(const Model &model, Workspace &workspace, int first, int n, const Shortlist *shortlist,
                    Question *const *questions, Walk *walks) {
  const Matrix &matrix = (shortlist ? shortlist->output : model.output).matrix();
  const int size = shortlist ? (int)shortlist->ids.size() : model.config.vocab_size;
  const Kernels &kernels = model.kernels;
  for (int r = 0; r < n; r++) {
    Question &question = *questions[r];
    for (Aside &aside : question.asides) aside.logit = kNever;
    question.next = 0;
    walks[r] = {kNever, 0.0f, question.k, 0, question.values.data(), question.ids.data()};
  }
  const Rows hidden = workspace.hidden(first);
  float *logits = workspace.logits();
  for (int at = 0; at < size; at += kColumnsAtOnce) {
    const int width = std::min(size - at, kColumnsAtOnce);
    const int last = std::min(at + kColumnsAtOnce, (int)matrix.columns);
    workspace.product(matrix, hidden, n, at, last, logits, kColumnsAtOnce, false);
    for (int r = 0; r < n; r++) {
      Question &question = *questions[r];
      float *row = logits + (int64_t)r * kColumnsAtOnce;
      if (question.normalised) kernels.normalise(row, width, walks[r]);
      if (question.everything) std::copy(row, row + width, question.everything + at);
      if (!question.asides.empty()) set_aside(question, shortlist, at, width, row);
      if (question.k) kernels.choose(row, width, at, walks[r]);
    }
  }
  for (int r = 0; r < n; r++) {
    Question &question = *questions[r];
    question.n = walks[r].n;
    question.max = walks[r].max;
    question.log_sum = question.normalised ? std::log(walks[r].sum) : 0.0f;
    for (int32_t i = 0; shortlist && i < question.n; i++)
      question.ids[(size_t)i] = shortlist->ids[(size_t)question.ids[(size_t)i]];
  }
}

}  // namespace gf
