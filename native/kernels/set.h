// Puts the kernels of one instruction set together.
#pragma once

#include "activation.h"
#include "attention.h"
#include "norm.h"
#include "product_float.h"
#include "quantise.h"
#include "vocabulary.h"

namespace gf {
namespace GF_ISA {

static void product(const Matrix &m, const Rows &x, int rows, int first, int last, float *out, int64_t stride,
                    bool add) {
#if defined(__AMX_INT8__)
  if (m.bytes && rows >= kRowsForTiles) return tile_product(m, x, rows, first, last, out, stride, add);
#endif
  if (m.bytes)
    int8_product(m, x, rows, first, last, out, stride, add);
  else
    float_product(m, x, rows, first, last, out, stride, add);
}

static const Kernels kSet = {GF_NAME, kWeightOffset, product,  quantise,  norm, activate,
                             look_at_memory,  look_back,     normalise, choose};

}  // namespace GF_ISA
}  // namespace gf
