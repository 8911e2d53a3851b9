#include "smoothed_loss.h"

#include <math.h>

#define GF_ISA training
#include "../kernels/lanes.h"
#include "../kernels/scratch.h"

namespace gf {

namespace {

using namespace training;

constexpr int64_t kRowsAtOnce = 16;

__mmask16 first(int64_t n) { return n >= kLanes ? 0xffff : (__mmask16)((1u << n) - 1); }

void one_row(float *logits, int64_t width, int64_t target, float smoothing, float &nll, float &uniform) {
  const float at_target = logits[target];
  __m512 most = _mm512_set1_ps(-__builtin_inff());
  Lanes plain = all(0.0f);
  for (int64_t i = 0; i < width; i += kLanes) {
    const __mmask16 here = first(width - i);
    const __m512 x = _mm512_maskz_loadu_ps(here, logits + i);
    most = _mm512_mask_max_ps(most, here, x, most);
    plain = plain + Lanes{x};
  }
  const float max = largest({most});
  Lanes sum = all(0.0f);
  for (int64_t i = 0; i < width; i += kLanes) {
    const __mmask16 here = first(width - i);
    const Lanes grown = exponential(Lanes{_mm512_maskz_loadu_ps(here, logits + i)} - all(max));
    sum = sum + Lanes{_mm512_maskz_mov_ps(here, grown.v)};
    _mm512_mask_storeu_ps(logits + i, here, grown.v);
  }
  const float mean = total(plain) / (float)width;
  // The exponential takes no notice of NaN and infinity; a training must.
  const float partition = isnan(mean) || isinf(max) ? NAN : total(sum);
  const float log_partition = logf(partition) + max;
  nll = log_partition - at_target;
  uniform = log_partition - mean;
  const Lanes share = all(1.0f / partition), everywhere = all(smoothing / (float)width);
  for (int64_t i = 0; i < width; i += kLanes) {
    const __mmask16 here = first(width - i);
    const Lanes grown = {_mm512_maskz_loadu_ps(here, logits + i)};
    _mm512_mask_storeu_ps(logits + i, here, (grown * share - everywhere).v);
  }
  logits[target] -= 1.0f - smoothing;
}

}  // namespace

void smoothed_loss(float *logits, int64_t rows, int64_t width, const int64_t *targets, float smoothing, float *nll,
                   float *uniform, const Team &team) {
  team.share((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](int64_t piece) {
    const int64_t end = least(rows, (piece + 1) * kRowsAtOnce);
    for (int64_t i = piece * kRowsAtOnce; i < end; i++)
      one_row(logits + i * width, width, targets[i], smoothing, nll[i], uniform[i]);
  });
}

}  // namespace gf
