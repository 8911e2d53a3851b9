#include "forward.h"

#include <algorithm>
#include <cstring>

namespace gf {

void arrange(const HeadShape &heads, const float *projected, int64_t stride, int32_t length, int32_t padded,
             float *keys, float *values) {
  const int64_t values_at = (int64_t)heads.key_heads * heads.key_width;
  for (int32_t h = 0; h < heads.key_heads; h++) {
    const float *key = projected + (int64_t)h * heads.key_width;
    float *to = keys + (int64_t)h * heads.d_k * padded;
    for (int32_t d = 0; d < heads.d_k; d++, to += padded) {
      for (int32_t s = 0; s < length; s++) to[s] = key[s * stride + d];
      for (int32_t s = length; s < padded; s++) to[s] = 0.0f;
    }
    const float *value = projected + values_at + (int64_t)h * heads.value_width;
    float *rows = values + (int64_t)h * length * heads.value_width;
    for (int32_t s = 0; s < length; s++)
      std::memcpy(rows + (int64_t)s * heads.value_width, value + s * stride, sizeof(float) * (size_t)heads.value_width);
  }
}

void Store::prepare(const Model &model, int32_t source_length, int64_t lines) {
  const HeadShape &heads = model.heads;
  const int64_t layers = (int64_t)model.decoder.layers.size();
  length_ = source_length;
  padded_ = (int32_t)round_up(source_length, 16);
  keys_size_ = (int64_t)heads.key_heads * heads.d_k * padded_;
  values_size_ = (int64_t)heads.key_heads * heads.value_width * length_;
  memory_.reserve(layers * (keys_size_ + values_size_));
  lines_ = lines;
  line_width_ = model.line_width;
  cache_.reserve(layers * lines * line_width_);
}

MemoryView Store::memory(int32_t layer) const {
  const float *keys = memory_.data() + layer * (keys_size_ + values_size_);
  return {keys, keys + keys_size_, length_, padded_};
}

void Store::remember(const HeadShape &heads, int32_t layer, const float *projected, int64_t stride) {
  float *keys = memory_.data() + layer * (keys_size_ + values_size_);
  arrange(heads, projected, stride, length_, padded_, keys, keys + keys_size_);
}

namespace {

constexpr int64_t kSpareRows = 32;  // that kernels may read beyond the last
constexpr int64_t kWorthSharing = 128 << 10;  // bytes of weights: fewer are done before another core has heard of them
constexpr int kPartsEach = 2;                 // so that nobody waits long for whoever is slower

int64_t widest(const Stack &stack) {
  int64_t most = 0;
  for (const Layer &layer : stack.layers)
    most = std::max<int64_t>({most, layer.query_key_value.matrix().columns, layer.expand.matrix().columns,
                              layer.cross_query.matrix().columns, layer.cross_key_value.matrix().columns});
  return most;
}

struct Sizes {
  int64_t x, wide, bytes, inner, heads, memory_keys, memory_values, weights;
};

// Floats (or bytes) of a row in each buffer.
Sizes sizes(const Model &model) {
  const HeadShape &h = model.heads;
  const int64_t heads = std::max<int64_t>((int64_t)h.heads * h.value_width, 16);
  const int64_t units = round_up(model.config.d_ff, 64);
  return {round_up(model.width, kBlock),
          std::max(widest(model.encoder), widest(model.decoder)),
          model.int8 ? round_up(model.width, 64) : 0,
          model.int8 ? std::max(round_up(heads, 64), units) : 0,
          round_up(heads, 64),
          (int64_t)h.key_heads * h.d_k,
          (int64_t)h.key_heads * h.value_width,
          h.heads};
}

}  // namespace

int64_t Workspace::bytes(const Model &model, int64_t rows, int64_t longest) {
  const Sizes s = sizes(model);
  const int64_t spare = rows + kSpareRows, padded = round_up(longest, 16) + 16;
  const int64_t floats = spare * (2 * s.x + s.wide + s.heads + kColumnsAtOnce + 4) +
                         padded * (s.memory_keys + s.memory_values + s.weights * 4 + 8);
  return floats * 4 + spare * (s.bytes + s.inner) + (longest + 16) * 8;
}

void Workspace::reserve(int64_t rows, int64_t longest) {
  if (rows <= capacity_ && longest <= longest_) return;
  rows = std::max(rows, capacity_);
  longest = std::max(longest, longest_);
  const Sizes s = sizes(model_);
  const int64_t spare = rows + kSpareRows, padded = round_up(longest, 16) + 16;
  wide_stride_ = s.wide;
  byte_stride_ = s.bytes;
  inner_stride_ = s.inner;
  heads_stride_ = s.heads;
  // Padding behind a row is read, and must be 0: also when a later allocation fails.
  x_.reserve(spare * s.x);
  x_.zero();
  normed_.reserve(spare * s.x);
  normed_.zero();
  heads_.reserve(spare * s.heads);
  heads_.zero();
  wide_.reserve(spare * s.wide);
  logits_.reserve(spare * kColumnsAtOnce);
  if (model_.int8) {
    for (Buffer<int8_t> *each : {&bytes_, &inner_bytes_}) {
      each->reserve(spare * (each == &bytes_ ? s.bytes : s.inner));
      each->zero();
    }
    for (Buffer<float> *each : {&scale_, &inner_scale_}) each->reserve(spare);
    for (Buffer<int32_t> *each : {&sum_, &inner_sum_}) each->reserve(spare);
  }
  scratch_.reserve(4 * padded);
  keys_.reserve(padded * s.memory_keys);
  values_.reserve(padded * s.memory_values);
  weights_.reserve(padded * s.weights * 4);
  lines_.reserve(longest + 16);
  capacity_ = rows;
  longest_ = longest;
}

void Workspace::product(const Matrix &matrix, const Rows &x, int n, int first, int last, float *out, int64_t stride,
                        bool add) {
  const int64_t bytes = (int64_t)(last - first) * matrix.features * (matrix.bytes ? 1 : 4);
  if (!crew_ || crew_->size() == 1 || bytes < kWorthSharing) {
    model_.kernels.product(matrix, x, n, first, last, out, stride, add);
    return;
  }
  const int blocks = (last - first) / kBlock, parts = std::min(blocks, crew_->size() * kPartsEach);
  crew_->share(parts, [&](int32_t part) {
    const int from = part * blocks / parts * kBlock, to = (part + 1) * blocks / parts * kBlock;
    model_.kernels.product(matrix, x, n, first + from, first + to, out + from, stride, add);
  });
}

void Workspace::product(const Linear &linear, const Rows &x, int n, float *out, int64_t stride, bool add) {
  product(linear.matrix(), x, n, 0, linear.matrix().columns, out, stride, add);
}

// What a sub-layer reads: x itself in post-norm, its norm otherwise.
Rows Workspace::input(const Residual &residual, int n) {
  const int64_t stride = sizes(model_).x;
  const Quantised twin = outer_twin();
  const Rows rows = {normed_.data(), stride, twin.bytes, twin.stride, twin.scale, twin.sum};
  if (model_.config.norm != GF_NORM_POST) {
    model_.kernels.norm(residual.norm.view(), x_.data(), stride, n, normed_.data(), model_.int8 ? 0 : stride, twin);
    return rows;
  }
  if (model_.int8 && !twin_is_x_) model_.kernels.quantise(x_.data(), stride, n, model_.width, twin);
  return {x_.data(), stride, twin.bytes, twin.stride, twin.scale, twin.sum};
}

// What the last map of a sub-layer reads.
Rows Workspace::inner(const float *x, int64_t stride, int n, int width) {
  const Quantised twin = inner_twin();
  if (model_.int8) model_.kernels.quantise(x, stride, n, width, twin);
  return {x, stride, twin.bytes, twin.stride, twin.scale, twin.sum};
}

// The last map of a sub-layer, the way around it, and the norms that come after.
void Workspace::finish(const Residual &residual, const Linear &linear, const Rows &x, int n) {
  const int64_t stride = sizes(model_).x;
  if (model_.config.norm == GF_NORM_SANDWICH) {
    product(linear, x, n, normed_.data(), stride, false);
    model_.kernels.norm(residual.norm_after.view(), normed_.data(), stride, n, normed_.data(), stride, {});
    for (int64_t i = 0; i < n * stride; i++) x_[i] += normed_[i];
    return;
  }
  product(linear, x, n, x_.data(), stride, true);
  if (model_.config.norm == GF_NORM_POST) {
    model_.kernels.norm(residual.norm.view(), x_.data(), stride, n, x_.data(), stride, outer_twin());
    twin_is_x_ = true;
  }
}

void Workspace::feed_forward(const Layer &layer, int n) {
  product(layer.expand, input(layer.feed_forward_residual, n), n, wide_.data(), wide_stride_, false);
  const Quantised twin = inner_twin();
  model_.kernels.activate(model_.activation, wide_.data(), wide_stride_, n, model_.config.d_ff, model_.gate_offset,
                          twin);
  const Rows units = {wide_.data(), wide_stride_, twin.bytes, twin.stride, twin.scale, twin.sum};
  finish(layer.feed_forward_residual, layer.contract, units, n);
}

void Workspace::begin(const Stack &stack, int n) {
  const int64_t stride = sizes(model_).x;
  twin_is_x_ = false;
  if (stack.embedding_norm.exists())
    model_.kernels.norm(stack.embedding_norm.view(), x_.data(), stride, n, x_.data(), stride, {});
}

void Workspace::end(const Stack &stack, int n) {
  const int64_t stride = sizes(model_).x;
  const Quantised twin = outer_twin();
  if (stack.norm.exists())
    model_.kernels.norm(stack.norm.view(), x_.data(), stride, n, x_.data(), stride, twin);
  else if (model_.int8 && !twin_is_x_)
    model_.kernels.quantise(x_.data(), stride, n, model_.width, twin);
}

Rows Workspace::hidden(int first) const {
  const int64_t stride = sizes(model_).x;
  return {x_.data() + first * stride, stride,
          model_.int8 ? bytes_.data() + first * byte_stride_ : nullptr, byte_stride_,
          model_.int8 ? scale_.data() + first : nullptr, model_.int8 ? sum_.data() + first : nullptr};
}

void Workspace::encode(const Source *sources, int n) {
  const HeadShape &heads = model_.heads;
  const Stack &stack = model_.encoder;
  const int64_t stride = sizes(model_).x, keys_at = (int64_t)heads.heads * heads.key_width;
  int rows = 0;
  for (int i = 0; i < n; i++)
    for (int32_t p = 0; p < sources[i].length; p++)
      model_.embed(stack, sources[i].ids[p], p, x_.data() + rows++ * stride);
  begin(stack, rows);
  for (const Layer &layer : stack.layers) {
    product(layer.query_key_value, input(layer.attention_residual, rows), rows, wide_.data(), wide_stride_, false);
    float *at = wide_.data(), *out = heads_.data();
    for (int i = 0; i < n; i++) {
      const int32_t length = sources[i].length, padded = (int32_t)round_up(length, 16);
      for (int32_t p = 0; p < length; p++) {
        model_.rotate(at + p * wide_stride_, heads.heads, p);
        model_.rotate(at + p * wide_stride_ + keys_at, heads.key_heads, p);
      }
      arrange(heads, at + keys_at, wide_stride_, length, padded, keys_.data(), values_.data());
      model_.kernels.look_at_memory(heads, {keys_.data(), values_.data(), length, padded}, at, wide_stride_, length,
                                    model_.bias(stack), model_.bias_stride(), out, heads_stride_, nullptr,
                                    scratch_.data());
      at += length * wide_stride_;
      out += length * heads_stride_;
    }
    const Rows looked = inner(heads_.data(), heads_stride_, rows, heads.heads * heads.value_width);
    finish(layer.attention_residual, layer.attention_output, looked, rows);
    feed_forward(layer, rows);
  }
  end(stack, rows);
  for (int32_t index = 0; index < (int32_t)model_.decoder.layers.size(); index++) {
    product(model_.decoder.layers[(size_t)index].cross_key_value, hidden(0), rows, wide_.data(), wide_stride_, false);
    const float *at = wide_.data();
    for (int i = 0; i < n; i++) {
      sources[i].store->remember(heads, index, at, wide_stride_);
      at += sources[i].length * wide_stride_;
    }
  }
}

void Workspace::look_at_self(const Layer &layer, int32_t index, const Row *rows, int n) {
  const HeadShape &heads = model_.heads;
  const int64_t keys_at = (int64_t)heads.heads * heads.key_width;
  product(layer.query_key_value, input(layer.attention_residual, n), n, wide_.data(), wide_stride_, false);
  for (int r = 0; r < n; r++) {  // all are written before any is read: rows may be positions of one sequence
    float *projected = wide_.data() + r * wide_stride_;
    model_.rotate(projected, heads.heads, rows[r].position);
    model_.rotate(projected + keys_at, heads.key_heads, rows[r].position);
    std::memcpy(rows[r].store->line(index, rows[r].lines[rows[r].position]), projected + keys_at,
                sizeof(float) * (size_t)model_.line_width);
  }
  const float *bias = model_.bias(model_.decoder);
  for (int r = 0; r < n; r++) {
    const Row &row = rows[r];
    const int64_t count = row.position + 1;
    for (int64_t p = 0; p < count; p++) lines_[p] = row.store->line(index, row.lines[p]);
    model_.kernels.look_back(heads, lines_.data(), (int)count, wide_.data() + r * wide_stride_,
                             bias ? bias - row.position : nullptr, model_.bias_stride(),
                             heads_.data() + r * heads_stride_, scratch_.data());
  }
  const Rows looked = inner(heads_.data(), heads_stride_, n, heads.heads * heads.value_width);
  finish(layer.attention_residual, layer.attention_output, looked, n);
}

void Workspace::look_at_source(const Layer &layer, int32_t index, const Row *rows, int n) {
  const HeadShape &heads = model_.heads;
  product(layer.cross_query, input(layer.cross_residual, n), n, wide_.data(), wide_stride_, false);
  for (int first = 0; first < n;) {
    const MemoryView memory = rows[first].store->memory(index);
    const AttentionReading reading = rows[first].reading;
    const bool watched = rows[first].attention && index == reading.layer;
    int last = first + 1;  // a run of rows of one sentence; with weights kept, at most as many as there is room for
    while (last < n && rows[last].store == rows[first].store && !(watched && last - first == 4)) last++;
    model_.kernels.look_at_memory(heads, memory, wide_.data() + first * wide_stride_, wide_stride_, last - first,
                                  nullptr, 0, heads_.data() + first * heads_stride_, heads_stride_,
                                  watched ? weights_.data() : nullptr, scratch_.data());
    for (int r = first; watched && r < last; r++) {
      const float *weights = weights_.data() + (int64_t)(r - first) * heads.heads * memory.padded;
      for (int32_t s = 0; s < memory.length; s++) {
        float sum = 0.0f;
        for (int32_t h = 0; h < heads.heads; h++)
          if (reading.head < 0 || reading.head == h) sum += weights[(int64_t)h * memory.padded + s];
        rows[r].attention[s] = reading.head < 0 ? sum / (float)heads.heads : sum;
      }
    }
    first = last;
  }
  const Rows looked = inner(heads_.data(), heads_stride_, n, heads.heads * heads.value_width);
  finish(layer.cross_residual, layer.cross_output, looked, n);
}

void Workspace::decode(const Row *rows, int n) {
  const Stack &stack = model_.decoder;
  const int64_t stride = sizes(model_).x;
  for (int r = 0; r < n; r++) model_.embed(stack, rows[r].token, rows[r].position, x_.data() + r * stride);
  begin(stack, n);
  for (int32_t index = 0; index < (int32_t)stack.layers.size(); index++) {
    const Layer &layer = stack.layers[(size_t)index];
    look_at_self(layer, index, rows, n);
    if (model_.has_encoder()) look_at_source(layer, index, rows, n);
    feed_forward(layer, n);
  }
  end(stack, n);
}

}  // namespace gf
