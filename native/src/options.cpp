#include "options.h"

#include <algorithm>
#include <string>

#include "failure.h"

namespace gf {

namespace {

constexpr int32_t kMostRows = 4096;

void check_range(const char *name, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, std::string(name) + " = " + std::to_string(value) +
                                               " is out of range; it must be from " + std::to_string(least) + " to " +
                                               std::to_string(most));
}

void check_number(const char *name, double value, double least, double most) {
  require(value >= least && value <= most, std::string(name) + " = " + std::to_string(value) + " is out of range");
}

}  // namespace

Options::Options(const gf_options &given, const gf_config &model) : plain(given) {
  const int32_t last = model.vocab_size - 1;
  if (!plain.beam) plain.beam = 1;
  if (!plain.nbest) plain.nbest = 1;
  if (plain.repetition_penalty == 0.0) plain.repetition_penalty = 1.0;
  if (plain.threads == 0) plain.threads = 1;
  check_range("beam", plain.beam, 1, kMostRows);
  check_range("nbest", plain.nbest, 1, plain.sampling ? kMostRows : plain.beam);
  check_range("length_penalty", plain.length_penalty, GF_PENALTY_GNMT, GF_PENALTY_AVERAGE);
  check_number("alpha", plain.alpha, -10.0, 10.0);
  check_range("min_length", plain.min_length, 0, INT32_MAX);
  check_range("max_length", plain.max_length, 0, INT32_MAX);
  check_range("max_extra", plain.max_extra, 0, INT32_MAX);
  check_range("no_repeat_ngram", plain.no_repeat_ngram, 0, INT32_MAX);
  check_number("repetition_penalty", plain.repetition_penalty, 1.0, 1000.0);
  check_range("sampling", plain.sampling, 0, 1);
  check_range("top_k", plain.top_k, 0, INT32_MAX);
  check_number("temperature", plain.temperature, 0.0, 1e6);
  check_number("top_p", plain.top_p, 0.0, 1.0);
  check_number("min_p", plain.min_p, 0.0, 1.0);
  check_range("end_id", plain.end_id, 0, last);
  if (model.family == GF_ENCODER_DECODER) check_range("start_id", plain.start_id, 0, last);
  check_range("stop_after", plain.stop_after, 0, INT32_MAX);
  check_range("threads", plain.threads, 1, 1024);
  check_range("batch_rows", plain.batch_rows, 0, 1 << 16);
  if (plain.want_alignment) {
    require(model.family == GF_ENCODER_DECODER, "a decoder-only model has no source to align with");
    if (plain.alignment_layer == -1) plain.alignment_layer = std::max(model.n_decoder_layers - 2, 0);
    check_range("alignment_layer", plain.alignment_layer, 0, model.n_decoder_layers - 1);
    check_range("alignment_head", plain.alignment_head, -1, model.n_heads - 1);
  }
  check_range("n_suppressed", plain.n_suppressed, 0, model.vocab_size);
  require(plain.n_suppressed == 0 || plain.suppressed, "suppressed is missing");
  suppressed.assign(plain.suppressed, plain.suppressed + plain.n_suppressed);
  for (int32_t id : suppressed) check_range("a suppressed id", id, 0, last);
  std::sort(suppressed.begin(), suppressed.end());
  suppressed.erase(std::unique(suppressed.begin(), suppressed.end()), suppressed.end());
  plain.suppressed = nullptr;
  rows = plain.sampling ? plain.nbest : plain.beam;
  first_rows = plain.sampling ? plain.nbest : 1;
}

}  // namespace gf
