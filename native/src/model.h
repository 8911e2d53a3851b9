// A Transformer, ready to run: its parameters packed for the kernels, and the tables that positions need.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../include/glassformer.h"
#include "../kernels/kernels.h"
#include "buffer.h"
#include "linear.h"

namespace gf {

class Norm {
 public:
  Norm() = default;
  Norm(const float *weight, const float *bias, int32_t width, float epsilon);
  const NormWeights &view() const { return view_; }
  bool exists() const { return view_.weight != nullptr; }

 private:
  Buffer<float> weight_, bias_;
  NormWeights view_ = {nullptr, nullptr, 0.0f, 0};
};

// The way around a sub-layer.
struct Residual {
  Norm norm, norm_after;  // the second only in a sandwich
};

struct Layer {
  Residual attention_residual;
  Linear query_key_value, attention_output;
  Residual cross_residual;  // the following only in a decoder that has a memory
  Linear cross_query, cross_key_value, cross_output;
  Residual feed_forward_residual;
  Linear expand;  // gated: the gate first, then, from gate_offset on, what it multiplies
  Linear contract;
};

struct Stack {
  std::vector<Layer> layers;
  Norm norm;                   // after the last layer; none in post-norm
  Norm embedding_norm;         // before the first layer, if there is one
  std::vector<float> learned;  // positions (max_length, d_model)
  std::vector<float> bias;     // on scores, by distance: (heads, 2 * max_length + 1), the middle being distance 0
};

class Model {
 public:
  Model(const gf_config &config, const gf_tensor *tensors, int32_t n_tensors, bool int8, const Kernels &kernels);

  const gf_config config;
  const Kernels &kernels;
  const bool int8;
  HeadShape heads;
  int32_t width;       // of a hidden state, padded
  int32_t gate_offset;  // 0: not gated
  int32_t line_width;  // of one cached position: keys and values
  Activation activation;
  Stack encoder, decoder;
  Linear output;  // to the vocabulary

  bool has_encoder() const { return config.family == GF_ENCODER_DECODER; }
  int64_t bytes() const { return bytes_; }
  // Whether the weights stay in the cache that the cores of a processor share.
  bool fits_cache() const { return bytes_ < 32 << 20; }
  // The hidden state that a token begins with: its embedding and, where it is added, its position.
  void embed(const Stack &stack, int32_t token, int64_t position, float *out) const;
  // Turns the heads of one row by the angles of its position; does nothing unless positions are rotary.
  void rotate(float *row, int32_t heads, int64_t position) const;
  // Biases on scores: entry j - i for key j and query i, or null. One row per head, bias_stride apart.
  const float *bias(const Stack &stack) const;
  int64_t bias_stride() const { return 2 * (int64_t)config.max_length + 1; }

 private:
  class Reader;
  void read_stack(Reader &reader, const std::string &name, const std::string &front, int32_t layers, Stack &stack);
  void read_layer(Reader &reader, const std::string &name, bool cross, Layer &layer);
  Norm read_norm(Reader &reader, const std::string &name);
  Residual read_residual(Reader &reader, const std::string &name);
  std::vector<float> read_bias(Reader &reader, const std::string &name, bool causal);
  Linear built(const LinearBuilder &builder);
  void make_tables();
  void add_wave(int64_t position, float *out) const;

  std::vector<float> source_embedding_, target_embedding_;  // the first is empty where they are one
  std::vector<float> waves_, turns_;
  int64_t table_rows_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace gf
