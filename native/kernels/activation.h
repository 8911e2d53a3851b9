// The activation inside the feed-forward network, gated or not, and the int8 twin of its result.
#pragma once

#include "quantise.h"

namespace gf {
namespace GF_ISA {

// The error function by formula 7.1.26 of Abramowitz and Stegun: within 1.5e-7.
GF_INLINE Lanes error_function(Lanes x) {
  const Lanes one = all(1.0f), a = magnitude(x);
  const Lanes t = one / (one + all(0.3275911f) * a);
  Lanes p = all(1.061405429f);
  p = p * t + all(-1.453152027f);
  p = p * t + all(1.421413741f);
  p = p * t + all(-0.284496736f);
  p = p * t + all(0.254829592f);
  const Lanes y = one - p * t * exponential(all(0.0f) - a * a);
  return y * (x / larger(a, all(1e-30f)));  // its sign is that of x
}

template <Activation kind>
GF_INLINE Lanes activated(Lanes x) {
  const Lanes one = all(1.0f);
  if (kind == Activation::relu) return larger(x, all(0.0f));
  if (kind == Activation::silu) return x / (one + exponential(all(0.0f) - x));
  if (kind == Activation::gelu) return all(0.5f) * x * (one + error_function(x * all(0.70710678118654752f)));
  const Lanes inner = all(0.79788456080286536f) * (x + all(0.044715f) * x * x * x);
  const Lanes tanh = one - all(2.0f) / (exponential(all(2.0f) * inner) + one);
  return all(0.5f) * x * (one + tanh);
}

template <Activation kind>
static void activate_rows(float *x, int64_t stride, int rows, int width, int gated, const Quantised &twin) {
  const int padded = (width + kLanes - 1) / kLanes * kLanes;
  for (int row = 0; row < rows; row++, x += stride) {
    Lanes most = all(0.0f);
    for (int i = 0; i < padded; i += kLanes) {
      Lanes value = activated<kind>(load(x + i));
      if (gated) value = value * load(x + gated + i);
      store(x + i, value);
      most = larger(magnitude(value), most);
    }
    if (twin.bytes) quantise_row(x, width, largest(most), twin, row);
  }
}

static void activate(Activation kind, float *x, int64_t stride, int rows, int width, int gated,
                     const Quantised &twin) {
  switch (kind) {
    case Activation::relu: return activate_rows<Activation::relu>(x, stride, rows, width, gated, twin);
    case Activation::gelu: return activate_rows<Activation::gelu>(x, stride, rows, width, gated, twin);
    case Activation::gelu_tanh: return activate_rows<Activation::gelu_tanh>(x, stride, rows, width, gated, twin);
    case Activation::silu: return activate_rows<Activation::silu>(x, stride, rows, width, gated, twin);
  }
}

}  // namespace GF_ISA
}  // namespace gf
