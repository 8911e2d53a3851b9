// The way through the stacks: sources to memories, and rows of hypotheses one position further.
#pragma once

#include <vector>

#include "buffer.h"
#include "crew.h"
#include "model.h"

namespace gf {

// What decoding a sentence leaves behind and looks at again: the memory of its source, and the keys and values of
// the positions so far, one line for each position of each hypothesis.
class Store {
 public:
  // source_length 0: no memory. lines: of the cache.
  void prepare(const Model &model, int32_t source_length, int64_t lines);
  MemoryView memory(int32_t layer) const;
  float *line(int32_t layer, int64_t index) { return cache_.data() + (layer * lines_ + index) * line_width_; }
  // Takes in the keys and values of one layer, rows of a projection, `stride` floats apart.
  void remember(const HeadShape &heads, int32_t layer, const float *projected, int64_t stride);
  int64_t bytes() const { return memory_.bytes() + cache_.bytes(); }

 private:
  Buffer<float> memory_, cache_;
  int64_t lines_ = 0, line_width_ = 0, keys_size_ = 0, values_size_ = 0;
  int32_t length_ = 0, padded_ = 0;
};

// Keys and values of a sentence in the order that the kernels want: keys transposed, both apart for each head.
void arrange(const HeadShape &heads, const float *projected, int64_t stride, int32_t length, int32_t padded,
             float *keys, float *values);

struct Source {
  const int32_t *ids;
  int32_t length;
  Store *store;
};

// Which weights an alignment is read from.
struct AttentionReading {
  int32_t layer, head;  // head -1: the mean of all
};

// One hypothesis at one position. lines[p] is the cache line of position p, for every p up to its own.
struct Row {
  Store *store;
  int32_t token;
  int64_t position;
  const int32_t *lines;
  float *attention;  // null, or where the weights on the source go that `reading` names
  AttentionReading reading;
};

// The buffers of one thread. Sizes are fixed between calls of reserve, which alone allocates.
class Workspace {
 public:
  // crew: null, or who helps with large products.
  Workspace(const Model &model, Crew *crew) : model_(model), crew_(crew) {}

  // Room for this many rows at once, that look at no more than `longest` positions or source tokens.
  void reserve(int64_t rows, int64_t longest);
  int64_t rows() const { return capacity_; }

  // The memories of some sources, put into their stores. Sources stand behind each other: there is no padding.
  void encode(const Source *sources, int n);
  // The rows one position further. Rows of one sentence stand behind each other. Their hidden states are then
  // `hidden`, ready for the projection to the vocabulary.
  void decode(const Row *rows, int n);
  Rows hidden(int first) const;
  // Columns [first, last) of a product, as the kernel gives them.
  void product(const Matrix &matrix, const Rows &x, int n, int first, int last, float *out, int64_t stride, bool add);

  float *logits() { return logits_.data(); }
  static int64_t bytes(const Model &model, int64_t rows, int64_t longest);

 private:
  Rows input(const Residual &residual, int n);
  Rows inner(const float *x, int64_t stride, int n, int width);
  void finish(const Residual &residual, const Linear &linear, const Rows &x, int n);
  void feed_forward(const Layer &layer, int n);
  void end(const Stack &stack, int n);
  void begin(const Stack &stack, int n);
  void look_at_self(const Layer &layer, int32_t index, const Row *rows, int n);
  void look_at_source(const Layer &layer, int32_t index, const Row *rows, int n);
  void product(const Linear &linear, const Rows &x, int n, float *out, int64_t stride, bool add);
  Quantised outer_twin() { return {bytes_.data(), byte_stride_, scale_.data(), sum_.data()}; }
  Quantised inner_twin() { return {inner_bytes_.data(), inner_stride_, inner_scale_.data(), inner_sum_.data()}; }

  const Model &model_;
  Crew *crew_;
  int64_t capacity_ = 0, longest_ = 0;
  int64_t wide_stride_ = 0, byte_stride_ = 0, inner_stride_ = 0, heads_stride_ = 0;
  Buffer<float> x_, normed_, wide_, heads_, logits_, scratch_, keys_, values_, weights_;
  Buffer<int8_t> bytes_, inner_bytes_;
  Buffer<float> scale_, inner_scale_;
  Buffer<int32_t> sum_, inner_sum_;
  Buffer<const float *> lines_;
  bool twin_is_x_ = false;  // post-norm: the twin of x has been made by the norm before
};

}  // namespace gf
