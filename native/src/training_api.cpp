// The border of what training asks for.
#include <cmath>
#include <new>

#include "../include/glassformer.h"
#include "large_product.h"
#include "short_attention.h"
#include "smoothed_loss.h"

namespace {

using namespace gf;

bool available() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

#if defined(__x86_64__)

template <typename Work>
int32_t guarded(bool sound, Work &&work) {
  if (!available()) return GF_UNSUPPORTED;
  if (!sound) return GF_INVALID;
  try {
    work();
    return GF_OK;
  } catch (const std::bad_alloc &) {
    return GF_NO_MEMORY;
  }
}

bool sound(const gf_attention &shape) {
  return shape.batch >= 0 && shape.heads > 0 && shape.queries > 0 && shape.keys > 0 && shape.d_k > 0 && shape.d_v > 0 &&
         shape.d_k % 16 == 0 && shape.d_v % 16 == 0 && shape.threads > 0;
}

AttentionShape inner(const gf_attention &shape) {
  return {shape.batch,  shape.heads,       shape.queries, shape.keys,
          shape.d_k,    shape.d_v,         1.0f / std::sqrt((float)shape.d_k),
          shape.causal != 0, shape.seen, shape.seen_stride};
}

Team team(const gf_attention &shape) { return {shape.threads, shape.parallel}; }
ReadHeads read(const gf_heads *heads) {
  return {heads->data, heads->batch_stride, heads->head_stride, heads->position_stride};
}
WriteHeads write(const gf_heads *heads) {
  return {heads->data, heads->batch_stride, heads->head_stride, heads->position_stride};
}

#endif

}  // namespace

extern "C" {

int32_t gf_training_available(void) { return available(); }

#if defined(__x86_64__)

int32_t gf_product(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_stride, int32_t a_turned, const float *b,
                   int64_t b_stride, int32_t b_turned, float *c, int64_t c_stride, const float *bias, int32_t add,
                   int32_t threads, gf_parallel parallel) {
  return guarded(m >= 0 && n >= 0 && k > 0 && threads > 0, [&] {
    const Strided left = a_turned ? Strided{a, 1, a_stride} : Strided{a, a_stride, 1};
    const Strided right = b_turned ? Strided{b, b_stride, 1} : Strided{b, 1, b_stride};
    large_product({m, n, k, left, right, c, c_stride, bias, add != 0}, {threads, parallel});
  });
}

int32_t gf_attend(const gf_attention *shape, const gf_heads *q, const gf_heads *k, const gf_heads *v, float *weights,
                  const gf_heads *out) {
  return guarded(sound(*shape), [&] {
    attend(inner(*shape), read(q), read(k), read(v), weights, write(out), team(*shape));
  });
}

int32_t gf_attend_back(const gf_attention *shape, const gf_heads *q, const gf_heads *k, const gf_heads *v,
                       const float *weights, const gf_heads *slope, const gf_heads *for_q, const gf_heads *for_k,
                       const gf_heads *for_v) {
  return guarded(sound(*shape), [&] {
    attend_back(inner(*shape), read(q), read(k), read(v), weights, read(slope), write(for_q), write(for_k),
                write(for_v), team(*shape));
  });
}

int32_t gf_smoothed_loss(float *logits, int64_t rows, int64_t width, const int64_t *targets, float smoothing,
                         float *nll, float *uniform, int32_t threads, gf_parallel parallel) {
  bool inside = rows >= 0 && width > 0 && threads > 0;
  for (int64_t i = 0; inside && i < rows; i++) inside = targets[i] >= 0 && targets[i] < width;
  return guarded(inside, [&] {
    smoothed_loss(logits, rows, width, targets, smoothing, nll, uniform, {threads, parallel});
  });
}

#else

int32_t gf_product(int64_t, int64_t, int64_t, const float *, int64_t, int32_t, const float *, int64_t, int32_t, float *,
                   int64_t, const float *, int32_t, int32_t, gf_parallel) {
  return GF_UNSUPPORTED;
}
int32_t gf_attend(const gf_attention *, const gf_heads *, const gf_heads *, const gf_heads *, float *,
                  const gf_heads *) {
  return GF_UNSUPPORTED;
}
int32_t gf_attend_back(const gf_attention *, const gf_heads *, const gf_heads *, const gf_heads *, const float *,
                       const gf_heads *, const gf_heads *, const gf_heads *, const gf_heads *) {
  return GF_UNSUPPORTED;
}
int32_t gf_smoothed_loss(float *, int64_t, int64_t, const int64_t *, float, float *, float *, int32_t, gf_parallel) {
  return GF_UNSUPPORTED;
}

#endif

}  // extern "C"
