/* The native engine of Glassformer: Transformers on a CPU, through a plain C interface.
 *
 * A model is made once from float32 tensors and then only read: any number of threads may use one handle at the
 * same time. Nothing here keeps a pointer that the caller passed in, except `cancel` while the call lasts. No C++
 * exception leaves the library. Every function that can fail gives a status and, where `error` is not NULL, writes
 * a message of at most `error_size` bytes, the terminating zero included.
 *
 * Structures that callers fill begin with `size = sizeof(structure)`; the library refuses sizes it does not know,
 * and a later version that appends fields accepts the earlier, shorter ones. Zero is a valid "unset" everywhere
 * unless said otherwise, so: clear a structure, set `size`, then what is wanted.
 *
 * Ids are int32. "Ragged" arrays are flat data plus n + 1 rising offsets: item i is data[offsets[i]..offsets[i+1]).
 */
#ifndef GLASSFORMER_H
#define GLASSFORMER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GF_API __attribute__((visibility("default")))
#else
#define GF_API
#endif

/* Raised when a change is not additive. A caller compares it with what it was written for. */
#define GF_ABI_VERSION 1

/* ---- status ------------------------------------------------------------------------------------------------ */

enum {
  GF_OK = 0,
  GF_INVALID = 1,     /* an argument is wrong; the message says which */
  GF_UNSUPPORTED = 2, /* well-formed, but this engine or this CPU cannot do it */
  GF_NO_MEMORY = 3,   /* an allocation failed; nothing was changed */
  GF_CANCELLED = 4,   /* `cancel` became non-zero */
  GF_FULL = 5,        /* a session has no room for another sentence now */
  GF_INTERNAL = 6     /* a bug */
};

GF_API int32_t gf_abi_version(void);

/* ---- kernels ----------------------------------------------------------------------------------------------- */

/* Kernel sets, best first. A CPU is asked what it has, except for AMX, where it may lie: "amx" counts as available
 * only after gf_kernels_trial("amx") came back, which belongs in a child process because it may die by SIGILL, and
 * after gf_kernels_allow("amx") said so in this process. */
enum { GF_KERNELS_AMX = 0, GF_KERNELS_AVX512VNNI = 1, GF_KERNELS_AVX2 = 2, GF_KERNELS_PORTABLE = 3 };

/* How many kernel sets were compiled in, and the name of each ("amx", "avx512vnni", "avx2", "portable"), best first;
 * NULL for an index that does not exist. */
GF_API int32_t gf_kernels_count(void);
GF_API const char *gf_kernels_name(int32_t index);

/* 1 if the set can run here. For "amx": if the CPU and the kernel claim it and gf_kernels_allow was called. */
GF_API int32_t gf_kernels_available(const char *name);
/* 1 if the CPU claims to have what the set needs, whether or not it was allowed. */
GF_API int32_t gf_kernels_claimed(const char *name);
/* Runs every kernel of the set once and compares the results with the portable ones: GF_OK if they agree. May die
 * by a signal where the CPU lies. */
GF_API int32_t gf_kernels_trial(const char *name, char *error, size_t error_size);
/* Lets models choose a set that needs permission ("amx"); the others need none. */
GF_API int32_t gf_kernels_allow(const char *name, char *error, size_t error_size);

/* ---- models ------------------------------------------------------------------------------------------------ */

enum { GF_ENCODER_DECODER = 0, GF_DECODER_ONLY = 1 };
enum {
  GF_POSITIONS_SINUSOIDAL = 0,
  GF_POSITIONS_LEARNED = 1,
  GF_POSITIONS_ROTARY = 2,
  GF_POSITIONS_ALIBI = 3,
  GF_POSITIONS_RELATIVE = 4,
  GF_POSITIONS_NONE = 5
};
enum { GF_NORM_POST = 0, GF_NORM_PRE = 1, GF_NORM_SANDWICH = 2 };
enum { GF_NORM_LAYER = 0, GF_NORM_RMS = 1 };
enum { GF_RELU = 0, GF_GELU = 1, GF_GELU_TANH = 2, GF_SILU = 3 };
enum { GF_TYING_THREE_WAY = 0, GF_TYING_TWO_WAY = 1, GF_TYING_NONE = 2 };
enum { GF_FLOAT32 = 0, GF_INT8 = 1 };

/* The architecture: the keys of ModelConfig, all of them set (0 does not mean "default" here). */
typedef struct gf_config {
  uint32_t size;
  int32_t family;
  int32_t vocab_size;
  int32_t source_vocab_size; /* = vocab_size where the vocabulary is shared; ignored by decoder-only models */
  int32_t max_length;
  int32_t d_model;
  int32_t d_ff;
  int32_t n_heads;
  int32_t n_kv_heads;
  int32_t d_k;
  int32_t d_v;
  int32_t n_encoder_layers; /* ignored by decoder-only models */
  int32_t n_decoder_layers;
  int32_t positions;
  int32_t relative_buckets;
  int32_t relative_max_distance;
  int32_t norm;
  int32_t norm_kind;
  int32_t activation;
  int32_t tying;
  uint8_t embedding_norm;
  uint8_t gated;
  uint8_t bias;
  uint8_t output_bias;
  uint8_t scale_embedding;
  uint8_t unused[3];
  double rotary_base;
  double norm_epsilon;
} gf_config;

/* One parameter under its name in the model file, e.g. "encoder.blocks.0.attention.query.weight"; row-major, its
 * innermost dimension last, as PyTorch has it. */
typedef struct gf_tensor {
  const char *name;
  const float *data;
  int64_t shape[2]; /* (rows, columns); a vector has shape (n, 1) or (1, n) and rank 1 */
  int32_t rank;     /* 1 or 2 */
} gf_tensor;

typedef struct gf_model gf_model;

/* Copies, converts and packs the tensors. Each parameter that the architecture has must be among them exactly once,
 * with its shape; a tied matrix may be given under any of its names, and under several. Others are an error.
 * `kernels`: name of a kernel set, or NULL for the best available. */
GF_API int32_t gf_model_create(const gf_config *config, const gf_tensor *tensors, int32_t n_tensors, int32_t precision,
                               const char *kernels, gf_model **model, char *error, size_t error_size);

/* Frees it. Sessions must have been freed before, and calls must have returned. NULL is allowed. */
GF_API void gf_model_free(gf_model *model);

typedef struct gf_model_info {
  uint32_t size; /* set by the caller */
  int32_t precision;
  const char *kernels; /* lives as long as the library */
  int64_t weight_bytes; /* memory that the model holds */
} gf_model_info;
GF_API int32_t gf_model_describe(const gf_model *model, gf_model_info *info);

/* ---- what is asked ----------------------------------------------------------------------------------------- */

enum { GF_PENALTY_GNMT = 0, GF_PENALTY_AVERAGE = 1 };

/* How to decode. Lengths count generated tokens: the final end id counts, the start id and a forced prefix do not. */
typedef struct gf_options {
  uint32_t size;
  int32_t start_id; /* fed first; without meaning for decoder-only models */
  int32_t end_id;
  int32_t beam;           /* 1 is greedy; 0 is taken as 1 */
  int32_t nbest;          /* results per input, at most `beam` when searching; 0 is taken as 1 */
  int32_t length_penalty; /* GF_PENALTY_GNMT: ((5 + length) / 6)^alpha; GF_PENALTY_AVERAGE: length^alpha */
  double alpha;
  int32_t min_length;
  int32_t max_length; /* 0: unset, then input length + max_extra (decoder-only: max_extra, at least 1) */
  int32_t max_extra;
  int32_t no_repeat_ngram;   /* 0: none */
  double repetition_penalty; /* factor on the log-probability of tokens already said; 0 or 1: none */
  /* Sampling. Drawn are `nbest` outputs of each input; `beam` is ignored. */
  int32_t sampling; /* 0: search; 1: draw */
  int32_t top_k;    /* 0: all */
  double temperature; /* 0 is greedy */
  double top_p;       /* 0 or 1: all */
  double min_p;
  uint64_t seed; /* used where a batch has no `dice` */
  /* Ids that are never chosen. */
  const int32_t *suppressed;
  int32_t n_suppressed;
  /* What results hold beside ids. Without scores, greedy search leaves out the normalisation of probabilities (the
   * log-probabilities and scores in the results are then 0); beam search and sampling always compute them. */
  int32_t want_scores;
  int32_t want_alignment;  /* 1: attention to the source with every hypothesis; encoder-decoder only */
  int32_t alignment_layer; /* decoder layer, from 0; -1: the layer below the last, or the only one */
  int32_t alignment_head;  /* head, from 0; -1: the mean of all heads */
  int32_t threads;         /* gf_translate and gf_score: worker threads; 0 is taken as 1 */
  int32_t batch_rows;      /* hypotheses side by side in one thread; 0: the engine's choice. Changes speed only */
  const volatile int32_t *cancel; /* NULL, or looked at between steps: non-zero stops the call */
  /* Beam search: 0 goes on until nothing better can come; n > 0 stops as soon as n hypotheses have ended, which is
   * what most other engines do, with n = beam. At least nbest are waited for. */
  int32_t stop_after;
  int32_t unused_end;
} gf_options;

/* Inputs: sources of an encoder-decoder, or prompts of a decoder-only model. Only `ids` and `offsets` are needed. */
typedef struct gf_batch {
  uint32_t size;
  int32_t n;
  const int32_t *ids; /* ragged over n, no item empty */
  const int64_t *offsets;
  const int32_t *prefix; /* ragged over n: tokens that an output has to begin with */
  const int64_t *prefix_offsets;
  const int32_t *limits; /* (n): most tokens of an output, instead of the rule of the options; all >= 1 */
  /* Ragged over n: the only target ids considered, rising. The end id and prefix are added. Empty: all ids. */
  const int32_t *shortlist;
  const int64_t *shortlist_offsets;
  /* Token sequences that outputs may not contain, none empty. Input i has the sequences
   * forbidden_sequences[i]..forbidden_sequences[i+1]), and sequence s the tokens
   * forbidden[forbidden_offsets[s]..forbidden_offsets[s+1]). */
  const int32_t *forbidden;
  const int64_t *forbidden_offsets;
  const int64_t *forbidden_sequences; /* (n + 1) */
  /* Random number generators for sampling: 4 words for each of the n * nbest outputs, the state (high, low) and the
   * increment (high, low) of PCG64 as numpy's bit_generator.state has them. NULL: derived from `seed`. */
  const uint64_t *dice;
} gf_batch;

/* ---- what is answered -------------------------------------------------------------------------------------- */

/* Hypotheses of all inputs, one after the other: input i has hypotheses[i]..hypotheses[i+1]), best first, at least
 * one. Read-only, and valid until gf_results_free. */
typedef struct gf_results {
  int32_t n;                   /* inputs */
  int64_t n_hypotheses;
  const int64_t *hypotheses;   /* (n + 1) */
  const int64_t *id_offsets;   /* (n_hypotheses + 1), into ids */
  const int32_t *ids;          /* without start and end id; a forced prefix is at the beginning */
  const int64_t *token_offsets; /* (n_hypotheses + 1), into token_log_probabilities */
  const float *token_log_probabilities; /* of each id, and of the end id if finished */
  const double *scores;            /* (n_hypotheses): what they are ranked by */
  const double *log_probabilities; /* (n_hypotheses): sums after the forced prefix */
  const uint8_t *finished;         /* (n_hypotheses): ended by itself; else the limit was met */
  const int32_t *n_forced;         /* (n_hypotheses) */
  /* With want_alignment, else NULL: for each hypothesis one row per token log-probability, each as long as the
   * input: row t is the attention of the step that predicted token t. */
  const int64_t *alignment_offsets; /* (n_hypotheses + 1), into alignment */
  const float *alignment;
} gf_results;

GF_API void gf_results_free(gf_results *results);

/* Decodes a batch of any size. Results are in the order of the inputs and do not depend, not even in the last bit,
 * on batch_rows, threads or the other inputs. Do not hold a lock that others need: it may take long. */
GF_API int32_t gf_translate(const gf_model *model, const gf_batch *batch, const gf_options *options,
                            gf_results **results, char *error, size_t error_size);

/* The log-probability of given outputs, all positions at once (teacher forcing). `targets` is ragged over batch->n;
 * `finished` (n, or NULL for all 1) says whether the end id follows and is scored too. Of the options, start_id,
 * end_id, threads, cancel and the alignment ones are used; of the batch, ids and shortlist. Each input has exactly
 * one hypothesis in the results; its alignment has one row more where it is not finished, so that there is always
 * a row that the last token was fed to. `score` is the sum, as is `log_probability`. */
GF_API int32_t gf_score(const gf_model *model, const gf_batch *batch, const int32_t *targets,
                        const int64_t *target_offsets, const uint8_t *finished, const gf_options *options,
                        gf_results **results, char *error, size_t error_size);

/* ---- step by step ------------------------------------------------------------------------------------------ */

/* A session decodes sentences that come and go between steps (continuous batching). Each sentence has options of its
 * own. A session is meant for one thread; calls from several are put in order by a lock. Adding may allocate,
 * a step does not. */
typedef struct gf_session gf_session;

/* `max_rows`: the most hypotheses side by side, which bounds memory and the time of a step; 0: the engine's choice. */
GF_API int32_t gf_session_create(const gf_model *model, int32_t max_rows, gf_session **session, char *error,
                                 size_t error_size);
GF_API void gf_session_free(gf_session *session);

/* Adds the only input of a batch (n = 1) and gives its slot, a number >= 0 that is its name until it is removed. The
 * next step reads it. GF_FULL: its rows do not fit beside the others now. */
GF_API int32_t gf_session_add(gf_session *session, const gf_batch *batch, const gf_options *options, int32_t *slot,
                              char *error, size_t error_size);

/* One token further for every sentence. `done` receives the slots that became complete in this step, at most
 * `done_capacity` of them (give room for max_rows), `n_done` how many; `n_live` how many sentences go on. A step
 * with no live sentence does nothing. */
GF_API int32_t gf_session_step(gf_session *session, int32_t *done, int32_t done_capacity, int32_t *n_done,
                               int32_t *n_live, char *error, size_t error_size);

/* The beginning that every hypothesis of a slot that can still win has in common: what may be shown already. Writes
 * at most `capacity` ids and log-probabilities (either may be NULL) and gives their full number. */
GF_API int32_t gf_session_certain(gf_session *session, int32_t slot, int32_t *ids, float *log_probabilities,
                                  int32_t capacity, int32_t *n, char *error, size_t error_size);

/* The results of a slot that is complete (n = 1). The slot stays until it is removed. */
GF_API int32_t gf_session_results(gf_session *session, int32_t slot, gf_results **results, char *error,
                                  size_t error_size);

/* Forgets a slot, complete or not: its rows are free for others. */
GF_API int32_t gf_session_remove(gf_session *session, int32_t slot, char *error, size_t error_size);

/* ---- memory ------------------------------------------------------------------------------------------------ */

/* An upper bound of the bytes that one sentence needs while it is decoded: its memory, its caches, its results. The
 * rest of a session or thread is bounded by gf_memory_fixed(model, max_rows). */
GF_API int64_t gf_memory_sentence(const gf_model *model, const gf_options *options, int32_t input_length,
                                  int32_t limit);
GF_API int64_t gf_memory_fixed(const gf_model *model, int32_t max_rows);

/* ---- training ---------------------------------------------------------------------------------------------- */

/* 1 if this processor has what the functions below need: AVX-512. Without it they give GF_UNSUPPORTED. They take
 * float32 numbers, and their bits do not depend on `threads`. After GF_NO_MEMORY the results are worth nothing. */
GF_API int32_t gf_training_available(void);

/* Runs `work` in several threads at once and waits for them, as OpenMP's GOMP_parallel does; NULL: one thread. */
typedef void (*gf_parallel)(void (*work)(void *), void *data, unsigned threads, unsigned flags);

/* C = A B, plus `bias` (n, or NULL) in each row or, where `add` is not 0, plus what is in C. A is (m, k), B is (k, n);
 * rows of what is in memory are `a_stride`, `b_stride`, `c_stride` floats apart, and `a_turned`, `b_turned` say that it
 * is the transposed matrix that lies there. */
GF_API int32_t gf_product(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_stride, int32_t a_turned,
                          const float *b, int64_t b_stride, int32_t b_turned, float *c, int64_t c_stride,
                          const float *bias, int32_t add, int32_t threads, gf_parallel parallel);

/* Vectors in a piece, found by text, head and position: so many floats apart. */
typedef struct gf_heads {
  float *data;
  int64_t batch_stride;
  int64_t head_stride;
  int64_t position_stride;
} gf_heads;

typedef struct gf_attention {
  int64_t batch;
  int64_t heads;
  int64_t queries;
  int64_t keys;
  int64_t d_k;         /* a multiple of 16, as is d_v */
  int64_t d_v;
  const uint8_t *seen; /* (batch, keys), 0 for keys that nobody may look at; NULL: all are seen */
  int64_t seen_stride; /* from one text to the next; 0 where all share a row */
  int32_t causal;      /* a query sees as many keys as it has predecessors, and its own */
  int32_t threads;
  gf_parallel parallel;
} gf_attention;

/* out = softmax(Q K^T / sqrt(d_k)) V. `weights` is (batch, heads, queries, keys rounded up to 16), 0 where nobody looks;
 * a query that may look at nothing gets 0. */
GF_API int32_t gf_attend(const gf_attention *shape, const gf_heads *q, const gf_heads *k, const gf_heads *v,
                         float *weights, const gf_heads *out);
/* The gradients by Q, K and V, from the one by `out` and the weights that gf_attend left. */
GF_API int32_t gf_attend_back(const gf_attention *shape, const gf_heads *q, const gf_heads *k, const gf_heads *v,
                              const float *weights, const gf_heads *slope, const gf_heads *for_q,
                              const gf_heads *for_k, const gf_heads *for_v);

/* Each row of logits (rows, width) becomes the gradient of its label-smoothed cross-entropy: softmax less the target,
 * which has 1 - smoothing at targets[row] and smoothing / width everywhere. `nll` and `uniform` (rows) get the negative
 * log-likelihoods of the target and, on average, of all tokens. */
GF_API int32_t gf_smoothed_loss(float *logits, int64_t rows, int64_t width, const int64_t *targets, float smoothing,
                                float *nll, float *uniform, int32_t threads, gf_parallel parallel);

#ifdef __cplusplus
}
#endif

#endif
