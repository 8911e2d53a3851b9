// The border: plain C outside, exceptions inside, none of which gets through.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "../include/glassformer.h"
#include "dispatch.h"
#include "failure.h"
#include "inputs.h"
#include "model.h"
#include "results.h"
#include "session.h"
#include "translate.h"
#include "trial.h"

struct gf_model {
  template <typename... Arguments>
  explicit gf_model(Arguments &&...arguments) : model(std::forward<Arguments>(arguments)...) {}
  const gf::Model model;
};

struct gf_session {
  gf_session(const gf::Model &model, int32_t max_rows) : session(model, max_rows) {}
  gf::Session session;
  std::mutex guard;
};

namespace {

using namespace gf;

void tell(char *error, size_t size, const char *message) {
  if (!error || !size) return;
  const size_t n = std::min(std::strlen(message), size - 1);
  std::memcpy(error, message, n);
  error[n] = '\0';
}

template <typename Work>
int32_t guarded(char *error, size_t error_size, Work &&work) {
  try {
    work();
    tell(error, error_size, "");
    return GF_OK;
  } catch (const Failure &failure) {
    tell(error, error_size, failure.what());
    return failure.status;
  } catch (const std::bad_alloc &) {
    tell(error, error_size, "there is not enough memory");
    return GF_NO_MEMORY;
  } catch (const std::length_error &) {
    tell(error, error_size, "there is not enough memory");
    return GF_NO_MEMORY;
  } catch (const std::exception &other) {
    tell(error, error_size, other.what());
    return GF_INTERNAL;
  } catch (...) {
    tell(error, error_size, "unknown failure");
    return GF_INTERNAL;
  }
}

// A structure of the caller: this version's, or an earlier and shorter one, the rest of which is 0.
template <typename T>
T copied(const T *given, const char *name) {
  require(given != nullptr, std::string(name) + " is missing");
  require(given->size >= sizeof(uint32_t) && given->size <= sizeof(T),
          std::string(name) + ".size = " + std::to_string(given->size) + ", but this version knows " +
              std::to_string(sizeof(T)));
  T copy;
  std::memset(&copy, 0, sizeof copy);
  std::memcpy(&copy, given, given->size);
  return copy;
}

template <typename T>
void need(T *pointer, const char *name) {
  require(pointer != nullptr, std::string(name) + " is missing");
}

const KernelChoice &known(const char *name) {
  const KernelChoice *found = find_choice(name);
  if (!found) invalid(std::string("there are no kernels named ") + (name ? name : "(null)"));
  return *found;
}

const Kernels &chosen_kernels(const char *name) {
  if (name) {
    const KernelChoice &wanted = known(name);
    if (!available(wanted)) throw Failure(GF_UNSUPPORTED, std::string(name) + ": these kernels cannot run here");
    return wanted.kernels();
  }
  int index = 0;
  while (!available(choice(index))) index++;  // the last one always is
  return choice(index).kernels();
}

int32_t checked_rows(const Model &model, int32_t max_rows) {
  require(max_rows >= 0 && max_rows <= 1 << 16, "max_rows is out of range");
  return max_rows ? max_rows : default_rows(model);
}

}  // namespace

extern "C" {

int32_t gf_abi_version(void) { return GF_ABI_VERSION; }

int32_t gf_kernels_count(void) { return choice_count(); }

const char *gf_kernels_name(int32_t index) {
  return index >= 0 && index < choice_count() ? choice(index).name : nullptr;
}

int32_t gf_kernels_available(const char *name) {
  const KernelChoice *found = find_choice(name);
  return found && available(*found);
}

int32_t gf_kernels_claimed(const char *name) {
  const KernelChoice *found = find_choice(name);
  return found && found->claimed();
}

int32_t gf_kernels_trial(const char *name, char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    const KernelChoice &wanted = known(name);
    if (!allow(wanted)) throw Failure(GF_UNSUPPORTED, std::string(name) + ": these kernels cannot run here");
    const std::string wrong = disagreement(wanted.kernels());
    if (!wrong.empty()) throw Failure(GF_UNSUPPORTED, std::string(name) + ": wrong results in " + wrong);
  });
}

int32_t gf_kernels_allow(const char *name, char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    if (!allow(known(name))) throw Failure(GF_UNSUPPORTED, std::string(name) + ": these kernels cannot run here");
  });
}

int32_t gf_model_create(const gf_config *config, const gf_tensor *tensors, int32_t n_tensors, int32_t precision,
                        const char *kernels, gf_model **model, char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    need(model, "model");
    *model = nullptr;
    const gf_config copy = copied(config, "config");
    require(copy.size == sizeof(gf_config), "config.size is not that of this version");
    require(n_tensors >= 0 && (tensors || !n_tensors), "tensors are missing");
    require(precision == GF_FLOAT32 || precision == GF_INT8, "precision names nothing");
    *model = new gf_model(copy, tensors, n_tensors, precision == GF_INT8, chosen_kernels(kernels));
  });
}

void gf_model_free(gf_model *model) { delete model; }

int32_t gf_model_describe(const gf_model *model, gf_model_info *info) {
  return guarded(nullptr, 0, [&] {
    need(model, "model");
    gf_model_info filled = copied(info, "info");
    filled.precision = model->model.int8 ? GF_INT8 : GF_FLOAT32;
    filled.kernels = model->model.kernels.name;
    filled.weight_bytes = model->model.bytes();
    std::memcpy(info, &filled, info->size);
  });
}

void gf_results_free(gf_results *results) { delete static_cast<Results *>(results); }

int32_t gf_translate(const gf_model *model, const gf_batch *batch, const gf_options *options, gf_results **results,
                     char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    need(results, "results");
    *results = nullptr;
    need(model, "model");
    const gf_options asked = copied(options, "options");
    *results = new Results(translate(model->model, copied(batch, "batch"), asked), asked.want_alignment != 0);
  });
}

int32_t gf_score(const gf_model *model, const gf_batch *batch, const int32_t *targets, const int64_t *target_offsets,
                 const uint8_t *finished, const gf_options *options, gf_results **results, char *error,
                 size_t error_size) {
  return guarded(error, error_size, [&] {
    need(results, "results");
    *results = nullptr;
    need(model, "model");
    const gf_options asked = copied(options, "options");
    *results = new Results(
        score(model->model, copied(batch, "batch"), targets, target_offsets, finished, asked),
        asked.want_alignment != 0);
  });
}

int32_t gf_session_create(const gf_model *model, int32_t max_rows, gf_session **session, char *error,
                          size_t error_size) {
  return guarded(error, error_size, [&] {
    need(session, "session");
    *session = nullptr;
    need(model, "model");
    *session = new gf_session(model->model, checked_rows(model->model, max_rows));
  });
}

void gf_session_free(gf_session *session) { delete session; }

int32_t gf_session_add(gf_session *session, const gf_batch *batch, const gf_options *options, int32_t *slot,
                       char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    need(session, "session");
    need(slot, "slot");
    const std::lock_guard<std::mutex> lock(session->guard);
    const Model &model = session->session.model();
    const auto asked = std::make_shared<const Options>(copied(options, "options"), model.config);
    const gf_batch copy = copied(batch, "batch");
    require(copy.n == 1, "a session takes inputs one by one: batch.n must be 1");
    check_batch(copy, model);
    require(asked->rows <= session->session.max_rows(), "more hypotheses than the session has rows");
    if (asked->rows > session->session.free_rows()) throw Failure(GF_FULL, "the session is full");
    *slot = session->session.add(read_query(copy, 0, model, asked));
  });
}

int32_t gf_session_step(gf_session *session, int32_t *done, int32_t done_capacity, int32_t *n_done, int32_t *n_live,
                        char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    need(session, "session");
    need(n_done, "n_done");
    require(done_capacity >= 0 && (done || !done_capacity), "done is missing");
    const std::lock_guard<std::mutex> lock(session->guard);
    const std::vector<int32_t> &complete = session->session.step();
    *n_done = (int32_t)complete.size();
    std::copy_n(complete.begin(), std::min(*n_done, done_capacity), done);
    if (n_live) *n_live = session->session.live();
  });
}

int32_t gf_session_certain(gf_session *session, int32_t slot, int32_t *ids, float *log_probabilities,
                           int32_t capacity, int32_t *n, char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    need(session, "session");
    need(n, "n");
    const std::lock_guard<std::mutex> lock(session->guard);
    require(session->session.has(slot), "there is no such slot");
    const int32_t *found = nullptr;
    const float *own = nullptr;
    *n = session->session.sentence(slot).certain(found, own);
    const int32_t written = std::max(std::min(*n, capacity), 0);
    if (ids) std::copy_n(found, written, ids);
    if (log_probabilities) std::copy_n(own, written, log_probabilities);
  });
}

int32_t gf_session_results(gf_session *session, int32_t slot, gf_results **results, char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    need(results, "results");
    *results = nullptr;
    need(session, "session");
    const std::lock_guard<std::mutex> lock(session->guard);
    require(session->session.has(slot), "there is no such slot");
    const Sentence &sentence = session->session.sentence(slot);
    require(sentence.done(), "this slot is not complete");
    std::vector<std::vector<Hypothesis>> found(1);
    for (int32_t i = 0; i < sentence.found().size(); i++) found[0].push_back(sentence.found()[i]);
    *results = new Results(found, sentence.query.options->plain.want_alignment != 0);
  });
}

int32_t gf_session_remove(gf_session *session, int32_t slot, char *error, size_t error_size) {
  return guarded(error, error_size, [&] {
    need(session, "session");
    const std::lock_guard<std::mutex> lock(session->guard);
    require(session->session.has(slot), "there is no such slot");
    session->session.remove(slot);
  });
}

int64_t gf_memory_sentence(const gf_model *model, const gf_options *options, int32_t input_length, int32_t limit) {
  int64_t bytes = -1;
  guarded(nullptr, 0, [&] {
    need(model, "model");
    const Options asked(copied(options, "options"), model->model.config);
    require(input_length >= 1 && limit >= 1, "lengths start at 1");
    bytes = Sentence::bytes(model->model, asked, input_length, limit);
  });
  return bytes;
}

int64_t gf_memory_fixed(const gf_model *model, int32_t max_rows) {
  int64_t bytes = -1;
  guarded(nullptr, 0, [&] {
    need(model, "model");
    bytes = Session::fixed_bytes(model->model, checked_rows(model->model, max_rows));
  });
  return bytes;
}

}  // extern "C"
