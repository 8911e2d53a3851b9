// Each kernel against arithmetic in double precision, and each set of kernels against the portable one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../src/dispatch.h"
#include "../src/linear.h"
#include "../src/trial.h"
#include "check.h"

using namespace gf;

namespace {

std::mt19937 generator(7);

Buffer<float> numbers(int64_t n, float spread = 1.0f) {
  Buffer<float> fresh(n + 64);
  fresh.zero();
  std::normal_distribution<float> normal(0.0f, spread);
  for (int64_t i = 0; i < n; i++) fresh[i] = normal(generator);
  return fresh;
}

bool near(double a, double b, double tolerance) { return std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(b)); }

void test_product(const Kernels &kernels) {
  const int rows = 7, width = 40, columns = 70;
  Buffer<float> weights = numbers((int64_t)columns * width), bias = numbers(columns), x = numbers(rows * 48);
  for (int r = 0; r < rows; r++)
    for (int k = width; k < 48; k++) x[r * 48 + k] = 0.0f;
  for (bool int8 : {false, true}) {
    LinearBuilder builder(width, 10, 16);  // four heads of 10, padded to 16
    builder.add(weights.data(), bias.data(), columns, 35, 40);
    const Linear linear = builder.build(int8, kernels.weight_offset);
    Buffer<float> spread(rows * 64), out(rows * 128), scale(rows);
    spread.zero();
    for (int r = 0; r < rows; r++)
      for (int k = 0; k < width; k++) spread[r * 64 + k / 10 * 16 + k % 10] = x[r * 48 + k];
    Buffer<int8_t> bytes((rows + 32) * 64);
    bytes.zero();
    Buffer<int32_t> sum(rows);
    const Quantised twin = {bytes.data(), 64, scale.data(), sum.data()};
    kernels.quantise(spread.data(), 64, rows, 64, twin);
    const Rows given = {spread.data(), 64, bytes.data(), 64, scale.data(), sum.data()};
    kernels.product(linear.matrix(), given, rows, 0, linear.matrix().columns, out.data(), 128, false);
    for (int r = 0; r < rows; r++)
      for (int n = 0; n < columns; n++) {
        double exact = bias[n];
        for (int k = 0; k < width; k++) exact += (double)weights[(int64_t)n * width + k] * x[r * 48 + k];
        CHECK(near(out[r * 128 + n / 35 * 40 + n % 35], exact, int8 ? 0.5 : 1e-5));
      }
  }
}

void test_selection(const Kernels &kernels) {
  const int width = 32, columns = 100;
  Buffer<float> weights = numbers(columns * width), bias = numbers(columns), x = numbers(width), out(128), part(64);
  const std::vector<int32_t> wanted = {0, 3, 64, 99};
  for (bool int8 : {false, true}) {
    LinearBuilder builder(width, width, width);
    builder.add(weights.data(), bias.data(), columns, columns, columns);
    const Linear whole = builder.build(int8, kernels.weight_offset);
    const Linear few = whole.selected(wanted.data(), (int32_t)wanted.size());
    Buffer<int8_t> bytes(33 * 64);
    bytes.zero();
    float scale;
    int32_t sum;
    kernels.quantise(x.data(), width, 1, width, {bytes.data(), 64, &scale, &sum});
    const Rows given = {x.data(), width, bytes.data(), 64, &scale, &sum};
    kernels.product(whole.matrix(), given, 1, 0, 128, out.data(), 128, false);
    kernels.product(few.matrix(), given, 1, 0, 64, part.data(), 64, false);
    for (size_t i = 0; i < wanted.size(); i++) CHECK(part[(int64_t)i] == out[wanted[i]]);
  }
}

void test_norm(const Kernels &kernels) {
  for (int width : {16, 37, 256}) {
    const int padded = (int)round_up(width, 16);
    Buffer<float> x = numbers(width, 3.0f), weight = numbers(width), bias = numbers(width), out(padded);
    for (bool layer : {true, false}) {
      const NormWeights weights = {weight.data(), layer ? bias.data() : nullptr, 1e-5f, width};
      kernels.norm(weights, x.data(), padded, 1, out.data(), padded, {});
      double mean = 0.0, variance = 0.0;
      for (int i = 0; layer && i < width; i++) mean += x[i] / (double)width;
      for (int i = 0; i < width; i++) variance += (x[i] - mean) * (x[i] - mean) / width;
      for (int i = 0; i < width; i++)
        CHECK(near(out[i], (x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + (layer ? bias[i] : 0.0f), 1e-5));
      for (int i = width; i < padded; i++) CHECK(out[i] == 0.0f);
    }
  }
}

void test_quantisation(const Kernels &kernels) {
  Buffer<float> x = numbers(3 * 64);
  std::fill(x.data() + 64, x.data() + 128, 0.0f);
  int8_t bytes[3 * 64];
  float scale[3];
  int32_t sum[3];
  kernels.quantise(x.data(), 64, 3, 64, {bytes, 64, scale, sum});
  for (int r = 0; r < 3; r++) {
    int32_t expected = 0;
    for (int i = 0; i < 64; i++) {
      CHECK(bytes[r * 64 + i] >= -127);
      CHECK(std::fabs(bytes[r * 64 + i] * scale[r] - x[r * 64 + i]) <= scale[r] * 0.5001f);
      expected += bytes[r * 64 + i];
    }
    CHECK(sum[r] == expected);
  }
}

void test_activation(const Kernels &kernels) {
  for (int kind = 0; kind < 4; kind++) {
    float values[32] = {-60.0f, -20.0f, -3.0f, -1.0f, -1e-4f, 0.0f, 1e-4f, 0.5f, 1.0f, 2.0f, 5.0f, 20.0f, 60.0f}, given[32];
    std::copy(values, values + 32, given);
    kernels.activate((Activation)kind, values, 32, 1, 16, 0, {});
    for (int i = 0; i < 13; i++) {
      const double x = given[i];
      const double expected[] = {std::max(x, 0.0), x * 0.5 * (1 + std::erf(x * std::sqrt(0.5))),
                                 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))),
                                 x / (1 + std::exp(-x))};
      CHECK(near(values[i], expected[kind], 1e-6));
    }
  }
}

void test_attention(const Kernels &kernels) {
  const HeadShape heads = {4, 2, 20, 32, 16, 0.25f};
  for (int length : {1, 16, 21}) {
    const int padded = (int)round_up(length, 16), rows = 6;
    Buffer<float> keys(2 * 20 * padded), values = numbers(2 * length * 16), q = numbers(rows * 128);
    Buffer<float> lines = numbers(length * 96), out(rows * 64), weights(rows * 4 * padded), scratch(4 * padded + 64);
    keys.zero();
    Buffer<float> plain = numbers(2 * 20 * length), bias = numbers(4 * 64);
    std::vector<const float *> places;
    for (int s = 0; s < length; s++) {
      places.push_back(lines.data() + s * 96);
      for (int h = 0; h < 2; h++)
        for (int d = 0; d < 32; d++) {
          const float key = d < 20 ? plain[(h * 20 + d) * length + s] : 0.0f;
          if (d < 20) keys[(h * 20 + d) * padded + s] = key;
          lines[s * 96 + h * 32 + d] = key;
          if (d < 16) lines[s * 96 + 64 + h * 16 + d] = values[(h * length + s) * 16 + d];
        }
    }
    const MemoryView memory = {keys.data(), values.data(), length, padded};
    kernels.look_at_memory(heads, memory, q.data(), 128, rows, bias.data() + 32, 64, out.data(), 64, weights.data(),
                           scratch.data());
    for (int r = 0; r < rows; r++)
      for (int h = 0; h < 4; h++) {
        std::vector<double> chances;
        double whole = 0.0;
        for (int s = 0; s < length; s++) {
          double dot = 0.0;
          for (int d = 0; d < 20; d++) dot += (double)q[r * 128 + h * 32 + d] * plain[(h / 2 * 20 + d) * length + s];
          chances.push_back(std::exp(dot * 0.25 + bias[32 + h * 64 + s - r]));
          whole += chances.back();
        }
        for (int s = 0; s < length; s++) CHECK(near(weights[(r * 4 + h) * padded + s], chances[(size_t)s] / whole, 1e-5));
        for (int d = 0; d < 16; d++) {
          double exact = 0.0;
          for (int s = 0; s < length; s++) exact += chances[(size_t)s] / whole * values[(h / 2 * length + s) * 16 + d];
          CHECK(near(out[r * 64 + h * 16 + d], exact, 1e-5));
        }
      }
    // Looking back over lines that hold the same keys and values gives the same.
    Buffer<float> back(64);
    kernels.look_back(heads, places.data(), length, q.data(), bias.data() + 32, 64, back.data(), scratch.data());
    for (int i = 0; i < 64; i++) CHECK(near(back[i], out[i], 1e-5));
  }
}

void test_vocabulary(const Kernels &kernels) {
  const float never = -std::numeric_limits<float>::infinity();
  const int width = 333, k = 5;
  Buffer<float> logits = numbers(width, 4.0f);
  logits[10] = logits[20] = 30.0f;  // a tie: the first wins
  logits[40] = never;
  logits[50] = std::numeric_limits<float>::quiet_NaN();
  float values[k];
  int32_t ids[k];
  Walk walk = {never, 0.0f, k, 0, values, ids};
  for (int at = 0; at < width; at += 100) kernels.choose(logits.data() + at, std::min(100, width - at), at, walk);
  CHECK(walk.n == k && ids[0] == 10 && ids[1] == 20);
  for (int i = 1; i < k; i++) CHECK(values[i - 1] >= values[i]);
  int better = 0;
  for (int i = 0; i < width; i++) better += logits[i] > values[k - 1];
  CHECK(better == k - 1);
  logits[50] = 0.0f;
  Walk sum = {never, 0.0f, 0, 0, nullptr, nullptr};
  for (int at = 0; at < width; at += 100) kernels.normalise(logits.data() + at, std::min(100, width - at), sum);
  double exact = 0.0;
  for (int i = 0; i < width; i++) exact += std::exp((double)logits[i]);
  CHECK(near(sum.max + std::log(sum.sum), std::log(exact), 1e-6));
  Walk nothing = {never, 0.0f, 1, 0, values, ids};
  const float none[16] = {never, never, never};
  kernels.normalise(none, 3, nothing);
  kernels.choose(none, 3, 0, nothing);
  CHECK(nothing.n == 0 && nothing.sum == 0.0f);
}

}  // namespace

int main() {
  for (int i = 0; i < choice_count(); i++) {
    if (!available(choice(i))) {
      std::printf("%s: not here\n", choice(i).name);
      continue;
    }
    const Kernels &kernels = choice(i).kernels();
    const std::string wrong = disagreement(kernels);
    if (!wrong.empty()) std::printf("%s differs from portable: %s\n", kernels.name, wrong.c_str());
    CHECK(wrong.empty());
    test_product(kernels);
    test_selection(kernels);
    test_norm(kernels);
    test_quantisation(kernels);
    test_activation(kernels);
    test_attention(kernels);
    test_vocabulary(kernels);
    std::printf("%s: tried\n", kernels.name);
  }
  return finished("kernels");
}
