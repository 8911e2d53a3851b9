#include "trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "buffer.h"
#include "linear.h"

namespace gf {

namespace {

// The same inputs for both sets; what each of them answers.
class Trial {
 public:
  Trial(const Kernels &kernels, const Kernels &reference) : sets_{&kernels, &reference} {}

  std::string run() {
    // Rows and widths that are whole tiles, and such that are not.
    for (int rows : {1, 3, 6, 17, 40})
      for (int width : {16, 64, 80, 256}) {
        if (!products_agree(rows, width, true) || !products_agree(rows, width, false)) return "product";
        if (!elementwise_agree(rows, width)) return "norm, activation or quantisation";
      }
    for (int length : {1, 15, 16, 33})
      if (!attention_agrees(length)) return "attention";
    if (!vocabulary_agrees()) return "vocabulary";
    return "";
  }

 private:
  Buffer<float> numbers(int64_t n) {
    Buffer<float> fresh(n + 64);
    fresh.zero();
    for (int64_t i = 0; i < n; i++) fresh[i] = spread_(random_);
    return fresh;
  }

  static bool same(const Buffer<float> &a, const Buffer<float> &b, float tolerance) {
    for (int64_t i = 0; i < a.size(); i++)
      if (!(std::fabs(a[i] - b[i]) <= tolerance * std::max(1.0f, std::fabs(b[i])))) return false;
    return true;
  }

  bool products_agree(int rows, int width, bool int8) {
    const int columns = 2 * kBlock;
    Buffer<float> weights = numbers((int64_t)columns * width), x = numbers((int64_t)(rows + 32) * width);
    Buffer<float> bias = numbers(columns), out[2];
    for (int side = 0; side < 2; side++) {
      const Kernels &kernels = *sets_[side];
      LinearBuilder builder(width, width, width);
      builder.add(weights.data(), bias.data(), columns, columns, columns);
      const Linear linear = builder.build(int8, kernels.weight_offset);
      const int64_t stride = round_up(width, 64);
      Buffer<int8_t> bytes((rows + 32) * stride);
      bytes.zero();
      Buffer<float> scale(rows);
      Buffer<int32_t> sum(rows);
      const Quantised twin = {bytes.data(), stride, scale.data(), sum.data()};
      kernels.quantise(x.data(), width, rows, width, twin);
      out[side].reserve((int64_t)rows * columns);
      out[side].zero();
      const Rows given = {x.data(), width, bytes.data(), stride, scale.data(), sum.data()};
      for (bool add : {false, true})
        kernels.product(linear.matrix(), given, rows, 0, columns, out[side].data(), columns, add);
    }
    return same(out[0], out[1], int8 ? 0.0f : 1e-5f * (float)width);
  }

  bool elementwise_agree(int rows, int width) {
    Buffer<float> x = numbers((int64_t)rows * width * 2), weight = numbers(width), bias = numbers(width);
    const Quantised none = {};
    for (int kind = 0; kind < 6; kind++) {
      Buffer<float> out[2];
      for (int side = 0; side < 2; side++) {
        out[side].reserve(x.size());
        std::copy(x.data(), x.data() + x.size(), out[side].data());
        if (kind < 4) {
          sets_[side]->activate((Activation)kind, out[side].data(), 2 * width, rows, width, kind % 2 ? width : 0, none);
        } else {
          const NormWeights weights = {weight.data(), kind == 4 ? bias.data() : nullptr, 1e-5f, width - 3};
          sets_[side]->norm(weights, out[side].data(), 2 * width, rows, out[side].data(), 2 * width, none);
        }
      }
      if (!same(out[0], out[1], 0.0f)) return false;
    }
    return true;
  }

  bool attention_agrees(int length) {
    const HeadShape heads = {4, 2, 24, 32, 16, 0.2f};
    const int padded = (int)round_up(length, 16), rows = 7, line = 2 * (32 + 16);
    Buffer<float> keys = numbers(2 * 24 * padded), values = numbers(2 * 16 * padded), q = numbers(rows * 128);
    Buffer<float> lines = numbers((int64_t)length * line), bias = numbers(4 * 256);
    std::vector<const float *> places;
    for (int i = 0; i < length; i++) places.push_back(lines.data() + (int64_t)i * line);
    Buffer<float> out[2];
    for (int side = 0; side < 2; side++) {
      out[side].reserve(2 * rows * 64);
      out[side].zero();
      Buffer<float> scratch(4 * padded + 64);
      const MemoryView memory = {keys.data(), values.data(), length, padded};
      sets_[side]->look_at_memory(heads, memory, q.data(), 128, rows, bias.data() + 128, 256, out[side].data(), 64,
                                  nullptr, scratch.data());
      for (int r = 0; r < rows; r++)
        sets_[side]->look_back(heads, places.data(), length, q.data() + r * 128, nullptr, 0,
                               out[side].data() + (rows + r) * 64, scratch.data());
    }
    return same(out[0], out[1], 0.0f);
  }

  bool vocabulary_agrees() {
    const int width = 500, k = 8;
    Buffer<float> logits = numbers(width);
    Walk walks[2];
    float values[2][k];
    int32_t ids[2][k];
    for (int side = 0; side < 2; side++) {
      walks[side] = {-std::numeric_limits<float>::infinity(), 0.0f, k, 0, values[side], ids[side]};
      for (int at = 0; at < width; at += 250) {
        sets_[side]->normalise(logits.data() + at, 250, walks[side]);
        sets_[side]->choose(logits.data() + at, 250, at, walks[side]);
      }
    }
    return walks[0].max == walks[1].max && walks[0].sum == walks[1].sum && std::equal(ids[0], ids[0] + k, ids[1]);
  }

  const Kernels *sets_[2];
  std::mt19937 random_{1};
  std::normal_distribution<float> spread_{0.0f, 1.0f};
};

}  // namespace

std::string disagreement(const Kernels &kernels) { return Trial(kernels, portable_kernels()).run(); }

}  // namespace gf
