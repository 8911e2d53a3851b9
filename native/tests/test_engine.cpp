// The engine through its C interface: every architecture, whatever is beside a sentence, step by step, hostile input.
#include <cmath>
#include <string>
#include <vector>

#include "check.h"
#include "tiny_model.h"

namespace {

struct Answer {
  std::vector<int32_t> ids;
  std::vector<float> log_probabilities, alignment;
  double score;
  bool finished;
  bool operator==(const Answer &o) const {
    return ids == o.ids && log_probabilities == o.log_probabilities && alignment == o.alignment && score == o.score &&
           finished == o.finished;
  }
};
using Answers = std::vector<std::vector<Answer>>;

Answers unpacked(gf_results *results) {
  Answers answers;
  for (int32_t i = 0; results && i < results->n; i++) {
    answers.emplace_back();
    for (int64_t h = results->hypotheses[i]; h < results->hypotheses[i + 1]; h++) {
      const gf_results &r = *results;
      Answer answer = {{r.ids + r.id_offsets[h], r.ids + r.id_offsets[h + 1]},
                       {r.token_log_probabilities + r.token_offsets[h], r.token_log_probabilities + r.token_offsets[h + 1]},
                       {}, r.scores[h], r.finished[h] != 0};
      if (r.alignment) answer.alignment.assign(r.alignment + r.alignment_offsets[h], r.alignment + r.alignment_offsets[h + 1]);
      answers.back().push_back(answer);
    }
  }
  gf_results_free(results);
  return answers;
}

Answers translated(const gf_model *model, const gf_batch &batch, const gf_options &options) {
  gf_results *results = nullptr;
  char error[256];
  const int32_t status = gf_translate(model, &batch, &options, &results, error, sizeof error);
  if (status != GF_OK) std::printf("%s\n", error);
  CHECK(status == GF_OK);
  return unpacked(results);
}

std::vector<gf_options> ways() {
  std::vector<gf_options> found = {tiny_options(1), tiny_options(4), tiny_options(3, 3)};
  gf_options ruled = tiny_options(4, 2);
  ruled.no_repeat_ngram = 2;
  ruled.min_length = 3;
  ruled.repetition_penalty = 1.3;
  found.push_back(ruled);
  gf_options drawn = tiny_options(1, 3);
  drawn.sampling = 1;
  drawn.temperature = 0.9;
  drawn.top_k = 20;
  drawn.top_p = 0.9;
  drawn.seed = 5;
  found.push_back(drawn);
  return found;
}

// Answers do not depend on neighbours, threads, or on whether they are asked for at once or step by step; scoring an
// output again gives what decoding gave it.
void test_invariance(const gf_model *model, const TinyBatch &batch) {
  for (gf_options options : ways()) {
    const Answers together = translated(model, batch.batch, options);
    options.threads = 3;
    options.batch_rows = 5;
    CHECK(translated(model, batch.batch, options) == together);
    if (!options.sampling)
      for (int32_t i = 0; i < batch.batch.n; i++) {
        int64_t places[2];
        const gf_batch one = batch.only(i, places);
        CHECK(translated(model, one, options)[0] == together[(size_t)i]);
        std::vector<int64_t> target = {0, (int64_t)together[(size_t)i][0].ids.size()};
        const uint8_t finished = together[(size_t)i][0].finished;
        gf_results *results = nullptr;
        CHECK(gf_score(model, &one, together[(size_t)i][0].ids.data(), target.data(), &finished, &options, &results,
                       nullptr, 0) == GF_OK);
        const Answer again = unpacked(results)[0][0];
        CHECK(again.log_probabilities.size() == together[(size_t)i][0].log_probabilities.size());
        for (size_t t = 0; t < again.log_probabilities.size(); t++)
          CHECK(std::fabs(again.log_probabilities[t] - together[(size_t)i][0].log_probabilities[t]) < 1e-4f);
      }
  }
}

void test_session(const gf_model *model, const TinyBatch &batch) {
  gf_options options = tiny_options(4, 2);
  options.want_alignment = 0;
  const Answers expected = translated(model, batch.batch, options);
  gf_session *session = nullptr;
  CHECK(gf_session_create(model, 12, &session, nullptr, 0) == GF_OK);
  std::vector<int32_t> owner;
  Answers found((size_t)batch.batch.n);
  int32_t next = 0, live = 1, complete = 0, cancelled = -1;
  while (live || next < batch.batch.n) {
    int64_t places[2];
    int32_t slot = -1;
    while (next < batch.batch.n) {
      const gf_batch one = batch.only(next, places);
      const int32_t status = gf_session_add(session, &one, &options, &slot, nullptr, 0);
      if (status == GF_FULL) break;
      CHECK(status == GF_OK);
      if ((size_t)slot >= owner.size()) owner.resize((size_t)slot + 1);
      owner[(size_t)slot] = next++;
      if (cancelled < 0) {  // one that comes and goes at once disturbs nobody
        int32_t other = -1;
        const gf_batch again = batch.only(0, places);
        if (gf_session_add(session, &again, &options, &other, nullptr, 0) == GF_OK)
          CHECK(gf_session_remove(session, other, nullptr, 0) == GF_OK);
        cancelled = other;
      }
    }
    int32_t done[12], n_done = 0;
    CHECK(gf_session_step(session, done, 12, &n_done, &live, nullptr, 0) == GF_OK);
    for (int32_t i = 0; i < n_done; i++) {
      gf_results *results = nullptr;
      CHECK(gf_session_results(session, done[i], &results, nullptr, 0) == GF_OK);
      found[(size_t)owner[(size_t)done[i]]] = unpacked(results)[0];
      int32_t ids[64], n = 0;
      CHECK(gf_session_certain(session, done[i], ids, nullptr, 64, &n, nullptr, 0) == GF_OK);
      CHECK(n <= (int32_t)found[(size_t)owner[(size_t)done[i]]][0].ids.size());
      CHECK(gf_session_remove(session, done[i], nullptr, 0) == GF_OK);
      CHECK(gf_session_remove(session, done[i], nullptr, 0) == GF_INVALID);
      complete++;
    }
  }
  CHECK(complete == batch.batch.n && found == expected);
  gf_session_free(session);
}

void test_kernel_sets_agree(const TinyModel &tiny, const TinyBatch &batch) {
  gf_model *reference = tiny.create(GF_INT8, "portable");
  const Answers expected = translated(reference, batch.batch, tiny_options(4, 2));
  for (int32_t i = 0; i < gf_kernels_count(); i++) {
    if (!gf_kernels_available(gf_kernels_name(i))) continue;
    gf_model *model = tiny.create(GF_INT8, gf_kernels_name(i));
    CHECK(translated(model, batch.batch, tiny_options(4, 2)) == expected);  // to the last bit
    gf_model_free(model);
  }
  gf_model_free(reference);
}

void test_alignment(const gf_model *model, const TinyBatch &batch) {
  gf_options options = tiny_options(3, 2);
  options.want_alignment = 1;
  options.alignment_layer = options.alignment_head = -1;
  const Answers found = translated(model, batch.batch, options);
  for (int32_t i = 0; i < batch.batch.n; i++)
    for (const Answer &each : found[(size_t)i]) {
      const size_t source = (size_t)(batch.offsets[(size_t)i + 1] - batch.offsets[(size_t)i]);
      CHECK(each.alignment.size() == each.log_probabilities.size() * source);
      for (size_t at = 0; at < each.alignment.size(); at += source) {
        float sum = 0.0f;
        for (size_t s = 0; s < source; s++) sum += each.alignment[at + s];
        CHECK(std::fabs(sum - 1.0f) < 1e-4f);
      }
    }
}

void test_limits(const gf_model *model, const TinyBatch &batch) {
  gf_options options = tiny_options(4, 2);
  const std::vector<int32_t> limits((size_t)batch.batch.n, 1);
  gf_batch limited = batch.batch;
  limited.limits = limits.data();
  for (const auto &each : translated(model, limited, options))
    for (const Answer &answer : each) CHECK(!each.empty() && answer.log_probabilities.size() == 1);
  int32_t cancel = 1;
  options.cancel = &cancel;
  gf_results *results = nullptr;
  CHECK(gf_translate(model, &batch.batch, &options, &results, nullptr, 0) == GF_CANCELLED && !results);
  options.cancel = nullptr;
  options.stop_after = 2;
  for (const auto &each : translated(model, batch.batch, options)) CHECK(!each.empty());
  CHECK(gf_memory_sentence(model, &options, 10, 20) > 0 && gf_memory_fixed(model, 0) > 0);
  CHECK(gf_memory_sentence(model, nullptr, 10, 20) == -1);
}

void test_refusals(const TinyModel &tiny) {
  std::string error;
  TinyModel broken(tiny.config);
  broken.tensors.pop_back();
  CHECK(!broken.create(GF_FLOAT32, nullptr, &error) && error.find("missing") != std::string::npos);
  TinyModel twice(tiny.config);
  twice.tensors.push_back(twice.tensors[0]);
  CHECK(!twice.create(GF_FLOAT32, nullptr, &error) && error.find("twice") != std::string::npos);
  TinyModel stranger(tiny.config);
  stranger.tensors.push_back(stranger.tensors[0]);
  stranger.tensors.back().name = "stranger";
  CHECK(!stranger.create(GF_FLOAT32, nullptr, &error) && error.find("stranger") != std::string::npos);
  TinyModel misshapen(tiny.config);
  misshapen.tensors[0].shape[0]--;
  CHECK(!misshapen.create(GF_FLOAT32, nullptr, &error) && error.find("shape") != std::string::npos);
  CHECK(!tiny.create(GF_FLOAT32, "no such kernels", &error));
  CHECK(!tiny.create(7, nullptr, &error));
  CHECK(gf_translate(nullptr, nullptr, nullptr, nullptr, nullptr, 0) == GF_INVALID);
  CHECK(gf_session_step(nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0) == GF_INVALID);
  gf_results_free(nullptr);
  gf_model_free(nullptr);
  gf_session_free(nullptr);
}

std::vector<gf_config> architectures() {
  std::vector<gf_config> found;
  for (int32_t family : {GF_ENCODER_DECODER, GF_DECODER_ONLY}) {
    for (int32_t positions = 0; positions <= GF_POSITIONS_NONE; positions++) {
      gf_config c = TinyModel::usual(family);
      c.positions = positions;
      c.norm = positions % 3;
      c.norm_kind = positions % 2;
      c.activation = positions % 4;
      c.gated = positions % 2;
      c.n_kv_heads = positions % 2 ? 2 : 4;
      c.tying = positions % 3;
      c.embedding_norm = positions == 1;
      c.output_bias = positions == 2;
      c.bias = positions != 4;
      c.d_v = positions == 3 ? 9 : 6;
      found.push_back(c);
    }
  }
  return found;
}

}  // namespace

int main() {
  CHECK(gf_abi_version() == GF_ABI_VERSION);
  unsigned seed = 1;
  for (const gf_config &config : architectures()) {
    const TinyModel tiny(config, seed);
    const TinyBatch batch(6, config.vocab_size, seed++);
    test_kernel_sets_agree(tiny, batch);
    for (int32_t precision : {GF_FLOAT32, GF_INT8}) {
      std::string error;
      gf_model *model = tiny.create(precision, nullptr, &error);
      if (!model) std::printf("%s\n", error.c_str());
      CHECK(model != nullptr);
      if (!model) continue;
      test_invariance(model, batch);
      test_session(model, batch);
      test_limits(model, batch);
      if (config.family == GF_ENCODER_DECODER) test_alignment(model, batch);
      gf_model_free(model);
    }
  }
  test_refusals(TinyModel(TinyModel::usual()));
  return finished("engine");
}
