// One input while it is decoded: its hypotheses in the making, what may come next, what has been found.
#pragma once

#include <memory>
#include <vector>

#include "dice.h"
#include "forward.h"
#include "hypotheses.h"
#include "options.h"
#include "vocabulary.h"

namespace gf {

// What is asked about one input, checked and copied.
struct Query {
  std::vector<int32_t> ids, prefix, shortlist;
  std::vector<std::vector<int32_t>> forbidden;
  std::vector<Dice> dice;  // one per output when sampling
  int32_t limit = 0;       // most generated tokens
  std::shared_ptr<const Options> options;
};

class Sentence {
 public:
  // Allocates all that decoding it will need.
  Sentence(const Model &model, Query query);

  const Query query;
  Store store;

  bool done() const { return done_; }
  int32_t rows() const { return rows_; }
  // Positions of a prompt that are read before the first step: all but its last token.
  int32_t prompt() const { return prompt_; }
  const Shortlist *shortlist() const { return shortlist_.get(); }
  const Found &found() const { return found_; }
  // How many lines of the cache it uses, and the most positions it can come to.
  static int64_t lines(const Model &model, const Options &options, int64_t input, int64_t prefix, int64_t limit);
  // An upper bound of the memory it needs, prefix included in the limit.
  static int64_t bytes(const Model &model, const Options &options, int64_t input, int64_t limit);
  static int64_t positions(const Model &model, int64_t input, int64_t prefix, int64_t limit);

  // What is fed to the model for one of its rows, or for a position of its prompt.
  Row row(int32_t r);
  Row prompt_row(int32_t position);
  // What each row wants to know; then, with the answers, one token further.
  Question &question(int32_t r);
  void advance();
  // The beginning that all hypotheses which can still win have in common.
  int32_t certain(const int32_t *&ids, const float *&log_probabilities) const;

 private:
  struct Candidate {
    double total;
    float own;
    int32_t parent, token;
    int32_t order;  // settles ties
  };
  struct Priced {
    float price, own;
    int32_t token;
  };

  bool forced() const { return said_ < (int32_t)query.prefix.size(); }
  int32_t length() const { return said_ - (int32_t)query.prefix.size(); }
  void write_rules(int32_t r, Question &question) const;
  void forbid_repeated(int32_t r, std::vector<Aside> &asides) const;
  void price(int32_t r);  // the candidates of one row, into priced_
  void search();
  void draw();
  int32_t drawn(const Question &question, double number, bool &stuck);
  bool settled() const;
  double largest_penalty(int32_t least) const;
  double worst_found() const { return found_[found_.size() - 1].score; }
  void give_up();
  // Makes the spare hypothesis of what a row has said and, unless it is null, of its last token, which is the end
  // if it is finished.
  void write_hypothesis(int32_t r, double total, const Candidate *last, bool finished);
  void continue_from(const Candidate *chosen, int32_t n);

  const Model &model_;
  const Options &options_;
  std::unique_ptr<Shortlist> shortlist_;
  Found found_;
  int32_t rows_ = 0, prompt_ = 0, said_ = 0, ended_ = 0;
  bool done_ = false;
  int64_t positions_ = 0, lengths_ = 0;
  // Of each row, and of each row of the step before: its tokens, their log-probabilities, its cache lines.
  std::vector<int32_t> tokens_, old_tokens_, lines_, old_lines_;
  std::vector<float> own_, old_own_;
  std::vector<double> total_, old_total_;
  std::vector<float> attention_;  // by line of generated positions: (source length)
  std::vector<Question> questions_;
  std::vector<Candidate> candidates_, chosen_;
  std::vector<Priced> priced_;
  std::vector<float> logits_;  // sampling: of the whole list, for each row
  std::vector<double> chances_;
  std::vector<int32_t> order_, row_order_;
  std::vector<Dice> dice_, old_dice_;
};

}  // namespace gf
