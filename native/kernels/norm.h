// Layer norm and root-mean-square norm, with the int8 twin of the result made while the row is still at hand.
#pragma once

#include "quantise.h"

namespace gf {
namespace GF_ISA {

static void norm(const NormWeights &w, const float *x, int64_t stride, int rows, float *out, int64_t out_stride,
                 const Quantised &twin) {
  const int width = w.width, padded = (width + kLanes - 1) / kLanes * kLanes;
  const int whole = width / kLanes * kLanes;  // what is behind it must not count: there, x - mean is not 0
  const float count = (float)width;
  for (int row = 0; row < rows; row++, x += stride) {
    Lanes mean = all(0.0f);
    if (w.bias) {
      Lanes sum = all(0.0f);
      for (int i = 0; i < padded; i += kLanes) sum = sum + load(x + i);
      mean = all(total(sum) / count);
    }
    Lanes squares = all(0.0f);
    for (int i = 0; i < whole; i += kLanes) {
      Lanes d = load(x + i) - mean;
      squares = squares + d * d;
    }
    if (whole < padded) {
      Lanes d = first_lanes(width - whole, load(x + whole) - mean, all(0.0f));
      squares = squares + d * d;
    }
    const Lanes factor = all(1.0f / __builtin_sqrtf(total(squares) / count + w.epsilon));
    float *y = out + row * out_stride;
    Lanes most = all(0.0f);
    for (int i = 0; i < padded; i += kLanes) {
      Lanes value = (load(x + i) - mean) * factor * load(w.weight + i);
      if (w.bias) value = value + load(w.bias + i);
      store(y + i, value);
      most = larger(magnitude(value), most);
    }
    if (twin.bytes) quantise_row(y, width, largest(most), twin, row);
  }
}

}  // namespace GF_ISA
}  // namespace gf
