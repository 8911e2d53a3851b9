// Rows of floats to rows of int8: each row has a scale of its own, its largest magnitude becoming 127.
#pragma once

#include "kernels.h"
#include "lanes.h"

namespace gf {
namespace GF_ISA {

// The twin of one row whose largest magnitude is known. Behind the width, up to a whole block, the bytes become 0.
GF_INLINE void quantise_row(const float *x, int width, float most, const Quantised &out, int row) {
  int8_t *bytes = out.bytes + row * out.stride;
  const int padded = (width + kLanes - 1) / kLanes * kLanes;
  const bool usable = most > 0.0f && most < 3.0e38f;  // a row of zeros, and one with an infinity, become zeros
  const Lanes factor = all(usable ? 127.0f / most : 0.0f);
  Ints sum = no_ints();
  for (int i = 0; i < padded; i += kLanes) {
    Ints q = rounded(load(x + i) * factor);
    store_bytes(bytes + i, q);
    sum = sum + q;
  }
  for (int i = padded; i % kBlock; i++) bytes[i] = 0;
  out.scale[row] = most / 127.0f;
  out.sum[row] = total(sum);
}

static void quantise(const float *x, int64_t stride, int rows, int width, const Quantised &out) {
  const int padded = (width + kLanes - 1) / kLanes * kLanes;
  for (int row = 0; row < rows; row++, x += stride) {
    Lanes most = all(0.0f);
    for (int i = 0; i < padded; i += kLanes) most = larger(magnitude(load(x + i)), most);
    quantise_row(x, width, largest(most), out, row);
  }
}

}  // namespace GF_ISA
}  // namespace gf
