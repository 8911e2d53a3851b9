// A linear map, packed once for the kernels: float32, or int8 with a scale for each output.
#pragma once

#include <vector>

#include "../kernels/kernels.h"
#include "buffer.h"

namespace gf {

class Linear {
 public:
  Linear() = default;
  Linear(Linear &&) = default;
  Linear &operator=(Linear &&) = default;

  const Matrix &matrix() const { return matrix_; }
  int64_t bytes() const { return bytes_.bytes() + floats_.bytes() + scale_.bytes() + bias_.bytes(); }

  // The same map with only some of its outputs, in this order.
  Linear selected(const int32_t *columns, int32_t n) const;

 private:
  friend class LinearBuilder;
  void allocate(int64_t columns, int64_t features, bool int8);

  Matrix matrix_;
  Buffer<uint8_t> bytes_;
  Buffer<float> floats_, scale_, bias_;
};

// Puts the weights of one or several maps of the same input under each other. Heads are padded on the way: each
// group of rows (or of input features) becomes `padded` wide, with zeros.
class LinearBuilder {
 public:
  LinearBuilder(int32_t features, int32_t group, int32_t padded_group);
  // weight is (rows, features) without padding; bias is (rows) or null.
  void add(const float *weight, const float *bias, int32_t rows, int32_t group, int32_t padded_group);
  Linear build(bool int8, int32_t weight_offset) const;

 private:
  struct Part {
    const float *weight, *bias;
    int32_t rows, group, padded_group;
  };
  void read_row(const Part &part, int32_t row, float *out) const;

  int32_t features_, group_, padded_group_;
  int64_t columns_ = 0;
  std::vector<Part> parts_;
};

}  // namespace gf
