// The interface of the kernels: what each of them does, whichever instruction set it is compiled for.
#pragma once

#include <stdint.h>

namespace gf {

constexpr int kBlock = 64;         // columns that a matrix product computes together; matrices are packed so
constexpr int kColumnsAtOnce = 512;  // of the vocabulary: their logits stay in the cache

// A linear map y = x Wᵀ + b, packed. Columns of the product (rows of W) stand in blocks of 64, padded with zeros.
// int8: inside a block, groups of 4 features follow each other, 64 columns × 4 bytes each; features are padded to a
// multiple of 64. float32: inside a block, features follow each other, 64 columns each.
struct Matrix {
  int32_t columns = 0;         // of the product, padded to a multiple of 64
  int32_t features = 0;        // of x, padded: to a multiple of 64 in int8, of 16 in float32
  const uint8_t *bytes = nullptr;  // int8: weight + Kernels::weight_offset
  const float *floats = nullptr;   // float32
  const float *scale = nullptr;    // int8: (columns), what one unit of a weight is worth
  const float *bias = nullptr;     // (columns), zeros where there is none
};

// Rows that a matrix is applied to: floats, or their int8 twins with a scale and the sum of each row.
struct Rows {
  const float *floats;
  int64_t stride;  // of floats
  const int8_t *bytes;
  int64_t byte_stride;
  const float *scale;
  const int32_t *sum;
};

// Where the int8 twin of rows goes; `bytes` is null in float32.
struct Quantised {
  int8_t *bytes;
  int64_t stride;  // a multiple of 64
  float *scale;
  int32_t *sum;
};

enum class Activation { relu, gelu, gelu_tanh, silu };

struct NormWeights {
  const float *weight;  // (width padded to 16), zeros in the padding
  const float *bias;    // the same; null for root-mean-square norm, which has neither mean nor bias
  float epsilon;
  int32_t width;
};

// Many heads, each padded to a multiple of 16 floats so that every head begins at a whole vector.
struct HeadShape {
  int32_t heads, key_heads, d_k, key_width, value_width;  // widths are padded
  float scale;                                            // 1 / √d_k
};

// Keys and values that all queries of a sentence look at: keys transposed, (key_heads, d_k, padded), and values
// (key_heads, length, value_width); `padded` is the length rounded up to 16.
struct MemoryView {
  const float *keys, *values;
  int32_t length, padded;
};

// The running state of one row's walk over the vocabulary.
struct Walk {
  float max;   // of all logits so far
  float sum;   // of e^(logit - max)
  int32_t k;   // how many best are wanted
  int32_t n;   // how many there are
  float *values;  // (k), falling
  int32_t *ids;   // (k)
};

struct Kernels {
  const char *name;
  int32_t weight_offset;  // added to int8 weights when they are packed: 128 where the instruction wants them unsigned

  // out[r][first..last) = x Wᵀ + b, written from out[r * stride] on; `add`: added to what is there.
  void (*product)(const Matrix &, const Rows &, int rows, int first, int last, float *out, int64_t stride, bool add);
  void (*quantise)(const float *x, int64_t stride, int rows, int width, const Quantised &out);
  // out = norm(x) and its int8 twin. out may be x; with out_stride 0 it is one row that each result overwrites.
  void (*norm)(const NormWeights &, const float *x, int64_t stride, int rows, float *out, int64_t out_stride,
               const Quantised &twin);
  // x = f(x), or f(x) · (what stands `gated` floats further on), in place, and its int8 twin.
  void (*activate)(Activation, float *x, int64_t stride, int rows, int width, int gated, const Quantised &twin);
  // Each of the rows looks at the whole memory. bias: (heads, bias_stride), the entry for key j of query row r is
  // bias[h * bias_stride + j - r]; null: none. weights: null, or the weights of all heads, (rows, heads, padded).
  void (*look_at_memory)(const HeadShape &, const MemoryView &, const float *q, int64_t stride, int rows,
                         const float *bias, int64_t bias_stride, float *out, int64_t out_stride, float *weights,
                         float *scratch);
  // One row looks at n lines, each keys (key_heads, key_width) then values (key_heads, value_width).
  // bias: (heads, bias_stride), the entry of line u is bias[h * bias_stride + u]; null: none.
  void (*look_back)(const HeadShape &, const float *const *lines, int n, const float *q, const float *bias,
                    int64_t bias_stride, float *out, float *scratch);
  // Takes logits into the sum of exponentials.
  void (*normalise)(const float *logits, int width, Walk &);
  // Takes logits into the best k; of equal ones the first wins.
  void (*choose)(const float *logits, int width, int32_t first_id, Walk &);
};

const Kernels &portable_kernels();
#if defined(__x86_64__)
const Kernels &avx2_kernels();
const Kernels &avx512vnni_kernels();
const Kernels &amx_kernels();
#endif

}  // namespace gf
