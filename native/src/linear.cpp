#include "linear.h"

#include <algorithm>
#include <cmath>

namespace gf {

namespace {

// Where byte i of feature group g of a column is, within its block.
inline int64_t byte_place(int64_t features, int64_t column, int64_t feature) {
  return column / kBlock * kBlock * features + feature / 4 * 4 * kBlock + column % kBlock * 4 + feature % 4;
}
inline int64_t float_place(int64_t features, int64_t column, int64_t feature) {
  return column / kBlock * kBlock * features + feature * kBlock + column % kBlock;
}

// Rounded to the nearest integer, halves to even, for magnitudes up to 2^22: beyond 2^23 floats have no fraction.
// The library's function is called once for each number, where this becomes a few instructions for several.
inline float rounded(float x) {
  constexpr float kNoFraction = 12582912.0f;  // 1.5 · 2^23
  return (x + kNoFraction) - kNoFraction;
}

// The int8 twin of a row, as the kernels read it: weight_offset too large. Gives what one unit is worth.
float quantised_row(const float *row, int64_t width, int32_t weight_offset, uint8_t *out) {
  float most = 0.0f;
  for (int64_t k = 0; k < width; k++) most = std::max(most, std::fabs(row[k]));
  const float factor = most > 0.0f && std::isfinite(most) ? 127.0f / most : 0.0f;
  for (int64_t k = 0; k < width; k++) {
    const float scaled = std::min(127.0f, std::max(-127.0f, row[k] * factor));  // so, NaN becomes -127
    out[k] = (uint8_t)((int32_t)rounded(scaled) + weight_offset);
  }
  return most / 127.0f;
}

}  // namespace

void Linear::allocate(int64_t columns, int64_t features, bool int8) {
  columns = round_up(columns, kBlock);
  features = round_up(features, int8 ? 64 : 16);
  if (int8) {
    bytes_.reserve(columns * features);
    scale_.reserve(columns);
    scale_.zero();
  } else {
    floats_.reserve(columns * features);
    floats_.zero();
  }
  bias_.reserve(columns);
  bias_.zero();
  matrix_.columns = (int32_t)columns;
  matrix_.features = (int32_t)features;
  matrix_.bytes = int8 ? bytes_.data() : nullptr;
  matrix_.floats = int8 ? nullptr : floats_.data();
  matrix_.scale = int8 ? scale_.data() : nullptr;
  matrix_.bias = bias_.data();
}

Linear Linear::selected(const int32_t *columns, int32_t n) const {
  const int64_t features = matrix_.features;
  const bool int8 = matrix_.bytes != nullptr;
  Linear part;
  part.allocate(n, features, int8);
  if (int8) part.bytes_.zero();
  for (int32_t j = 0; j < n; j++) {
    const int32_t column = columns[j];
    part.bias_[j] = bias_[column];
    if (int8) {
      part.scale_[j] = scale_[column];
      for (int64_t k = 0; k < features; k += 4)
        std::memcpy(&part.bytes_[byte_place(features, j, k)], &bytes_[byte_place(features, column, k)], 4);
    } else {
      for (int64_t k = 0; k < features; k++)
        part.floats_[float_place(features, j, k)] = floats_[float_place(features, column, k)];
    }
  }
  return part;
}

LinearBuilder::LinearBuilder(int32_t features, int32_t group, int32_t padded_group)
    : features_(features), group_(group), padded_group_(padded_group) {}

void LinearBuilder::add(const float *weight, const float *bias, int32_t rows, int32_t group, int32_t padded_group) {
  parts_.push_back({weight, bias, rows, group, padded_group});
  columns_ += (int64_t)(rows / group) * padded_group;
}

// One row of weights, its groups of features spread to their padded places.
void LinearBuilder::read_row(const Part &part, int32_t row, float *out) const {
  const float *from = part.weight + (int64_t)row * features_;
  for (int32_t at = 0; at < features_; at += group_, from += group_, out += padded_group_)
    std::copy(from, from + group_, out);
}

Linear LinearBuilder::build(bool int8, int32_t weight_offset) const {
  const int64_t width = (int64_t)(features_ / group_) * padded_group_;
  Linear linear;
  linear.allocate(columns_, width, int8);
  const int64_t features = linear.matrix_.features;
  if (int8) std::memset(linear.bytes_.data(), weight_offset, (size_t)linear.bytes_.bytes());
  std::vector<float> row((size_t)features, 0.0f);
  std::vector<uint8_t> twin((size_t)features, (uint8_t)weight_offset);  // behind the width stands what a 0 is
  int64_t base = 0;
  for (const Part &part : parts_) {
    for (int32_t r = 0; r < part.rows; r++) {
      const int64_t column = base + (int64_t)(r / part.group) * part.padded_group + r % part.group;
      read_row(part, r, row.data());
      if (part.bias) linear.bias_[column] = part.bias[r];
      if (!int8) {
        for (int64_t k = 0; k < width; k++) linear.floats_[float_place(features, column, k)] = row[(size_t)k];
        continue;
      }
      linear.scale_[column] = quantised_row(row.data(), width, weight_offset, twin.data());
      for (int64_t k = 0; k < width; k += 4)
        std::memcpy(&linear.bytes_[byte_place(features, column, k)], &twin[(size_t)k], 4);
    }
    base += (int64_t)(part.rows / part.group) * part.padded_group;
  }
  return linear;
}

}  // namespace gf
