#include "inputs.h"

#include <algorithm>
#include <string>

#include "failure.h"

namespace gf {

namespace {

constexpr int64_t kMostIds = (int64_t)1 << 31;

std::string numbered(const char *name, int64_t index) { return std::string(name) + " " + std::to_string(index); }

void check_offsets(const char *name, const int64_t *offsets, int64_t n, int64_t least) {
  require(offsets != nullptr, std::string(name) + ": the offsets are missing");
  require(offsets[0] == 0, std::string(name) + ": the first offset is not 0");
  for (int64_t i = 0; i < n; i++) {
    require(offsets[i + 1] >= offsets[i] && offsets[i + 1] <= kMostIds, numbered(name, i) + ": its offsets do not rise");
    require(offsets[i + 1] - offsets[i] >= least, numbered(name, i) + " is empty");
  }
}

// The most tokens of an output, the end included, a forced prefix not.
int32_t limit_of(const gf_batch &batch, int32_t index, const Model &model, const gf_options &options, int64_t input,
                 int64_t prefix) {
  const bool encoder = model.has_encoder();
  const int64_t room = model.config.max_length - prefix - (encoder ? 0 : input - 1);
  require(room >= 1, numbered("input", index) + ": the input and the prefix leave no room in the " +
                         std::to_string(model.config.max_length) + " of max_length");
  int64_t wanted = encoder ? input + options.max_extra : std::max(options.max_extra, 1);
  if (options.max_length) wanted = options.max_length;
  if (batch.limits) wanted = batch.limits[index];
  require(wanted >= 1, numbered("limit", index) + " is below 1");
  return (int32_t)std::min(room, wanted);
}

std::vector<int32_t> item(const int32_t *data, const int64_t *offsets, int64_t index) {
  if (!data || !offsets) return {};
  return std::vector<int32_t>(data + offsets[index], data + offsets[index + 1]);
}

}  // namespace

void check_ragged(const char *name, const int32_t *ids, const int64_t *offsets, int64_t n, int64_t least,
                  int32_t size) {
  check_offsets(name, offsets, n, least);
  require(ids != nullptr || offsets[n] == 0, std::string(name) + ": the ids are missing");
  for (int64_t i = 0; i < offsets[n]; i++)
    require(ids[i] >= 0 && ids[i] < size, std::string(name) + ": id " + std::to_string(ids[i]) +
                                              " is outside the vocabulary of " + std::to_string(size));
}

void check_batch(const gf_batch &batch, const Model &model) {
  const gf_config &config = model.config;
  const int32_t inputs = model.has_encoder() ? config.source_vocab_size : config.vocab_size;
  require(batch.n >= 0, "a batch of fewer than 0 inputs");
  if (batch.n == 0) return;
  check_ragged("input", batch.ids, batch.offsets, batch.n, 1, inputs);
  for (int32_t i = 0; i < batch.n; i++)
    require(batch.offsets[i + 1] - batch.offsets[i] <= config.max_length,
            numbered("input", i) + " is longer than the " + std::to_string(config.max_length) + " of max_length");
  if (batch.prefix_offsets)
    check_ragged("prefix", batch.prefix, batch.prefix_offsets, batch.n, 0, config.vocab_size);
  if (batch.shortlist_offsets) {
    check_ragged("shortlist", batch.shortlist, batch.shortlist_offsets, batch.n, 0, config.vocab_size);
    for (int32_t i = 0; i < batch.n; i++)
      for (int64_t at = batch.shortlist_offsets[i] + 1; at < batch.shortlist_offsets[i + 1]; at++)
        require(batch.shortlist[at] > batch.shortlist[at - 1], numbered("shortlist", i) + " does not rise");
  }
  if (batch.forbidden_sequences) {
    check_offsets("forbidden sequences of input", batch.forbidden_sequences, batch.n, 0);
    const int64_t sequences = batch.forbidden_sequences[batch.n];
    check_ragged("forbidden sequence", batch.forbidden, batch.forbidden_offsets, sequences, 1, config.vocab_size);
  }
}

Query read_query(const gf_batch &batch, int32_t index, const Model &model, std::shared_ptr<const Options> options) {
  Query query;
  query.ids = item(batch.ids, batch.offsets, index);
  query.prefix = item(batch.prefix, batch.prefix_offsets, index);
  query.shortlist = item(batch.shortlist, batch.shortlist_offsets, index);
  if (batch.forbidden_sequences)
    for (int64_t s = batch.forbidden_sequences[index]; s < batch.forbidden_sequences[index + 1]; s++)
      query.forbidden.push_back(item(batch.forbidden, batch.forbidden_offsets, s));
  const gf_options &plain = options->plain;
  query.limit = limit_of(batch, index, model, plain, (int64_t)query.ids.size(), (int64_t)query.prefix.size());
  for (int32_t sample = 0; plain.sampling && sample < plain.nbest; sample++)
    query.dice.push_back(batch.dice ? Dice(batch.dice + 4 * ((int64_t)index * plain.nbest + sample))
                                    : Dice(plain.seed, (uint64_t)index, (uint64_t)sample));
  query.options = std::move(options);
  return query;
}

}  // namespace gf
