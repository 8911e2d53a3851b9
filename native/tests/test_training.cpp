// What training asks for, against arithmetic in double precision. Every array is exactly as large as it must be, so
// that a sanitizer sees who reads or writes over an end.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "../include/glassformer.h"
#include "check.h"

namespace {

using Floats = std::vector<float>;

std::mt19937 generator(7);

Floats numbers(int64_t n) {
  Floats fresh(n);
  std::normal_distribution<float> normal;
  for (float &x : fresh) x = normal(generator);
  return fresh;
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-4 * std::max(1.0, std::fabs(b)); }

// Threads, one after the other.
void one_by_one(void (*work)(void *), void *data, unsigned threads, unsigned) {
  for (unsigned i = 0; i < threads; i++) work(data);
}

void test_product(int64_t m, int64_t n, int64_t k) {
  for (int kind = 0; kind < 8; kind++) {
    const bool a_turned = kind & 1, b_turned = kind & 2, add = kind & 4;
    const Floats a = numbers(m * k), b = numbers(n * k), bias = numbers(n);
    Floats c(m * n, 0.5f);
    CHECK(gf_product(m, n, k, a.data(), a_turned ? m : k, a_turned, b.data(), b_turned ? k : n, b_turned, c.data(), n,
                     add ? nullptr : bias.data(), add, 2, one_by_one) == GF_OK);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double exact = add ? 0.5 : bias[j];
        for (int64_t l = 0; l < k; l++)
          exact += (double)a[a_turned ? l * m + i : i * k + l] * b[b_turned ? j * k + l : l * n + j];
        CHECK(near(c[i * n + j], exact));
      }
  }
}

constexpr int64_t kBatch = 2, kHeads = 2;

// (batch, length, heads, width), all in a piece.
gf_heads view(Floats &x, int64_t length, int64_t width) {
  return {x.data(), length * kHeads * width, width, kHeads * width};
}

void test_attention(int64_t queries, int64_t keys, int64_t d_k, int64_t d_v, bool causal, bool masked) {
  const int64_t rows = kBatch * kHeads, padded = (keys + 15) / 16 * 16;
  Floats q = numbers(rows * queries * d_k), k = numbers(rows * keys * d_k), v = numbers(rows * keys * d_v);
  Floats slope = numbers(rows * queries * d_v), out(slope.size()), weights(rows * queries * padded);
  Floats for_q(q.size()), for_k(k.size()), for_v(v.size());
  std::vector<uint8_t> seen(kBatch * keys, 1);
  if (masked) {
    seen[0] = 0;
    std::fill(seen.begin() + keys, seen.end(), 0);  // nobody in the second text
  }
  const gf_attention shape = {kBatch, kHeads, queries,    keys,   d_k, d_v,       masked ? seen.data() : nullptr,
                              keys,   causal, 2, one_by_one};
  const gf_heads at_q = view(q, queries, d_k), at_k = view(k, keys, d_k), at_v = view(v, keys, d_v);
  const gf_heads at_out = view(out, queries, d_v), at_slope = view(slope, queries, d_v);
  const gf_heads to_q = view(for_q, queries, d_k), to_k = view(for_k, keys, d_k), to_v = view(for_v, keys, d_v);
  CHECK(gf_attend(&shape, &at_q, &at_k, &at_v, weights.data(), &at_out) == GF_OK);
  CHECK(gf_attend_back(&shape, &at_q, &at_k, &at_v, weights.data(), &at_slope, &to_q, &to_k, &to_v) == GF_OK);
  for (int64_t b = 0; b < kBatch; b++)
    for (int64_t h = 0; h < kHeads; h++) {
      auto place = [&](const gf_heads &x, int64_t i) { return x.data + b * x.batch_stride + h * x.head_stride + i * x.position_stride; };
      std::vector<double> dq(queries * d_k), dk(keys * d_k), dv(keys * d_v);
      for (int64_t i = 0; i < queries; i++) {
        std::vector<double> weight(keys, 0.0), by_weight(keys, 0.0);
        double sum = 0.0, middle = 0.0;
        for (int64_t j = 0; j < keys; j++) {
          if ((causal && j > i) || (masked && !seen[b * keys + j])) continue;
          double score = 0.0;
          for (int64_t d = 0; d < d_k; d++) score += (double)place(at_q, i)[d] * place(at_k, j)[d];
          sum += weight[j] = std::exp(score / std::sqrt((double)d_k));
        }
        for (int64_t j = 0; j < keys; j++) {
          if (sum > 0.0) weight[j] /= sum;
          for (int64_t w = 0; w < d_v; w++) {
            by_weight[j] += (double)place(at_slope, i)[w] * place(at_v, j)[w];
            dv[j * d_v + w] += weight[j] * place(at_slope, i)[w];
          }
          middle += weight[j] * by_weight[j];
          CHECK(near(weights[((b * kHeads + h) * queries + i) * padded + j], weight[j]));
        }
        for (int64_t w = 0; w < d_v; w++) {
          double exact = 0.0;
          for (int64_t j = 0; j < keys; j++) exact += weight[j] * place(at_v, j)[w];
          CHECK(near(place(at_out, i)[w], exact));
        }
        for (int64_t j = 0; j < keys; j++)
          for (int64_t d = 0; d < d_k; d++) {
            const double by_score = weight[j] * (by_weight[j] - middle) / std::sqrt((double)d_k);
            dq[i * d_k + d] += by_score * place(at_k, j)[d];
            dk[j * d_k + d] += by_score * place(at_q, i)[d];
          }
      }
      for (int64_t i = 0; i < queries; i++)
        for (int64_t d = 0; d < d_k; d++) CHECK(near(place(to_q, i)[d], dq[i * d_k + d]));
      for (int64_t j = 0; j < keys; j++) {
        for (int64_t d = 0; d < d_k; d++) CHECK(near(place(to_k, j)[d], dk[j * d_k + d]));
        for (int64_t w = 0; w < d_v; w++) CHECK(near(place(to_v, j)[w], dv[j * d_v + w]));
      }
    }
}

void test_loss(int64_t rows, int64_t width, float smoothing) {
  Floats logits = numbers(rows * width), slope = logits, nll(rows), uniform(rows);
  std::vector<int64_t> targets(rows);
  for (int64_t i = 0; i < rows; i++) targets[i] = i % width;
  CHECK(gf_smoothed_loss(slope.data(), rows, width, targets.data(), smoothing, nll.data(), uniform.data(), 2,
                         one_by_one) == GF_OK);
  for (int64_t i = 0; i < rows; i++) {
    double sum = 0.0, mean = 0.0;
    for (int64_t j = 0; j < width; j++) {
      sum += std::exp((double)logits[i * width + j]);
      mean += logits[i * width + j] / (double)width;
    }
    CHECK(near(nll[i], std::log(sum) - logits[i * width + targets[i]]));
    CHECK(near(uniform[i], std::log(sum) - mean));
    for (int64_t j = 0; j < width; j++) {
      const double target = (j == targets[i] ? 1.0 - smoothing : 0.0) + smoothing / (double)width;
      CHECK(near(slope[i * width + j], std::exp((double)logits[i * width + j]) / sum - target));
    }
  }
  targets[0] = width;
  CHECK(gf_smoothed_loss(slope.data(), rows, width, targets.data(), smoothing, nll.data(), uniform.data(), 1,
                         nullptr) == GF_INVALID);
}

}  // namespace

int main() {
  if (!gf_training_available()) {
    std::printf("training: not here\n");
    return 0;
  }
  for (int64_t m : {1, 14, 15, 61})
    for (int64_t n : {1, 16, 33, 70})
      for (int64_t k : {1, 16, 37, 530}) test_product(m, n, k);
  for (int64_t queries : {1, 5, 17})
    for (int64_t keys : {1, 16, 33})
      for (bool masked : {false, true}) {
        test_attention(queries, keys, 16, 48, false, masked);
        test_attention(queries, queries, 80, 16, true, masked);
      }
  for (int64_t width : {1, 15, 16, 100})
    for (float smoothing : {0.0f, 0.1f}) test_loss(19, width, smoothing);
  const gf_attention odd = {1, 1, 1, 1, 12, 16, nullptr, 0, 0, 1, nullptr};
  CHECK(gf_attend(&odd, nullptr, nullptr, nullptr, nullptr, nullptr) == GF_INVALID);
  CHECK(gf_product(1, 1, 0, nullptr, 1, 0, nullptr, 1, 0, nullptr, 1, nullptr, 0, 1, nullptr) == GF_INVALID);
  return finished("training");
}
