// Hostile numbers at the entry points: whatever they are, a call answers or refuses. For builds with sanitizers.
//
//   fuzz [SEED] [ROUNDS]
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "check.h"
#include "tiny_model.h"

namespace {

std::mt19937_64 dice;

// Mostly small numbers, sometimes ones that nobody expects.
int32_t strange() {
  static const int32_t odd[] = {INT_MIN, -2, -1, 0, 1, 2, 15, 16, 17, 63, 64, 65, 255, 4096, 1 << 20, 1 << 24, INT_MAX};
  return dice() % 3 ? (int32_t)(dice() % 12) : odd[dice() % (sizeof odd / sizeof odd[0])];
}

double strange_number() {
  static const double odd[] = {-1.0, 0.0, 1e-300, 0.5, 1.0, 2.0, 1e300, -1e300, 0.0 / 1.0, HUGE_VAL, -HUGE_VAL};
  return odd[dice() % (sizeof odd / sizeof odd[0])];
}

// Overwrites some of a structure's words behind its size.
template <typename T>
void spoil(T &structure, int32_t *first, int32_t *last) {
  for (int32_t *word = first; word < last; word++)
    if (dice() % 8 == 0) *word = strange();
  if (dice() % 16 == 0) structure.size = (uint32_t)strange();
}

gf_config spoilt_config() {
  gf_config config = TinyModel::usual(dice() % 2 ? GF_DECODER_ONLY : GF_ENCODER_DECODER);
  config.positions = (int32_t)(dice() % 6);
  config.norm = (int32_t)(dice() % 3);
  if (dice() % 2) return config;
  spoil(config, &config.family, &config.tying + 1);
  if (dice() % 8 == 0) config.norm_epsilon = strange_number();
  if (dice() % 8 == 0) config.rotary_base = strange_number();
  return config;
}

gf_options spoilt_options() {
  gf_options options = tiny_options(1 + (int32_t)(dice() % 4));
  options.sampling = dice() % 3 == 0;
  options.nbest = options.sampling ? 2 : 1;
  options.temperature = 1.0;
  options.alignment_head = options.alignment_layer = -1;
  if (dice() % 2) spoil(options, &options.start_id, &options.length_penalty + 1);
  if (dice() % 2) spoil(options, &options.min_length, &options.no_repeat_ngram + 1);
  if (dice() % 4 == 0) spoil(options, &options.want_scores, &options.threads);
  if (dice() % 8 == 0) options.alpha = strange_number();
  if (dice() % 8 == 0) options.temperature = strange_number();
  if (dice() % 8 == 0) options.top_p = strange_number();
  if (dice() % 8 == 0) options.min_p = strange_number();
  if (dice() % 8 == 0) options.repetition_penalty = strange_number();
  if (dice() % 8 == 0) options.top_k = strange();
  options.threads = 1 + (int32_t)(dice() % 2);
  if (options.max_length > 64 || options.max_length < 0) options.max_length = 9;  // else it is only slow
  return options;
}

void ask(const gf_model *model, const gf_config &config) {
  TinyBatch inputs(1 + (int32_t)(dice() % 4), std::min(config.vocab_size, 53), (unsigned)dice(), 9);
  if (dice() % 4 == 0) inputs.ids[dice() % inputs.ids.size()] = strange();
  if (dice() % 4 == 0) inputs.offsets[1 + dice() % (inputs.offsets.size() - 1)] -= (int64_t)(dice() % 3);
  std::vector<int32_t> more, limits;
  std::vector<int64_t> places{0}, sequences{0};
  for (int32_t i = 0; i < inputs.batch.n; i++) {
    for (uint64_t t = dice() % 3; t; t--) more.push_back(dice() % 8 ? (int32_t)(dice() % 50) : strange());
    places.push_back((int64_t)more.size());
    sequences.push_back((int64_t)places.size() - 1);
    limits.push_back(1 + (int32_t)(dice() % 8));
  }
  gf_batch batch = inputs.batch;
  if (dice() % 3 == 0) batch.prefix = more.data(), batch.prefix_offsets = places.data();
  if (dice() % 3 == 0) batch.shortlist = more.data(), batch.shortlist_offsets = places.data();
  if (dice() % 3 == 0)
    batch.forbidden = more.data(), batch.forbidden_offsets = places.data(), batch.forbidden_sequences = sequences.data();
  batch.limits = limits.data();
  if (dice() % 16 == 0) batch.ids = nullptr;
  if (dice() % 16 == 0) batch.offsets = nullptr;
  const gf_options options = spoilt_options();
  char error[64];
  gf_results *results = nullptr;
  gf_translate(model, &batch, &options, &results, error, dice() % sizeof error);
  gf_results_free(results);
  gf_score(model, &batch, more.data(), places.data(), nullptr, &options, &results, error, sizeof error);
  gf_results_free(results);
  gf_session *session = nullptr;
  if (gf_session_create(model, (int32_t)(dice() % 6), &session, error, sizeof error) != GF_OK) return;
  batch.n = 1;
  for (int step = 0; step < 12; step++) {
    int32_t slot = strange(), done[4], n_done = 0, live = 0;
    gf_session_add(session, &batch, &options, &slot, error, sizeof error);
    gf_session_step(session, done, 4, &n_done, &live, error, sizeof error);
    int32_t ids[4], n = 0;
    gf_session_certain(session, slot, ids, nullptr, strange(), &n, error, 0);
    if (gf_session_results(session, slot, &results, error, sizeof error) == GF_OK) gf_results_free(results);
    if (dice() % 2) gf_session_remove(session, dice() % 2 ? slot : strange(), error, sizeof error);
  }
  gf_session_free(session);
}

}  // namespace

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
  int made = 0;
  for (int round = 0; round < rounds; round++) {
    dice.seed(seed * 1000003u + (uint64_t)round);
    const gf_config wanted = spoilt_config();
    // Tensors fit what was meant or what is asked: either may be refused, neither may crash.
    gf_config fitting = wanted;
    for (int32_t *word = &fitting.vocab_size; word < &fitting.norm; word++)
      if (word != &fitting.positions && (*word < 1 || *word > 300)) *word = 6;
    if (fitting.n_heads % std::max(fitting.n_kv_heads, 1)) fitting.n_kv_heads = fitting.n_heads;
    const TinyModel tiny(fitting, (unsigned)round);
    gf_model *model = nullptr;
    char error[128];
    const gf_config &asked = dice() % 3 ? fitting : wanted;
    const char *kernels[] = {nullptr, "portable", "avx2", "avx512vnni"};
    gf_model_create(&asked, tiny.tensors.data(), (int32_t)tiny.tensors.size(), (int32_t)(dice() % 2), kernels[dice() % 4],
                    &model, error, sizeof error);
    if (!model) continue;
    made++;
    for (int i = 0; i < 3; i++) ask(model, asked);
    gf_model_free(model);
  }
  std::printf("%d of %d models were made\n", made, rounds);
  CHECK(made > rounds / 8);
  return finished("fuzz");
}
