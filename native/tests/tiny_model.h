// Tiny random models of any architecture, made through the C interface.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "../include/glassformer.h"

struct TinyModel {
  gf_config config;
  std::vector<gf_tensor> tensors;

  explicit TinyModel(const gf_config &wanted, unsigned seed = 1) : config(wanted), random_(seed) {
    const gf_config &c = config;
    const bool encoder = c.family == GF_ENCODER_DECODER;
    add(encoder ? "target_embedding.weight" : "embedding.weight", c.vocab_size, c.d_model);
    if (encoder && c.tying != GF_TYING_THREE_WAY) add("source_embedding.weight", c.source_vocab_size, c.d_model);
    if (c.tying == GF_TYING_NONE) add("output.weight", c.vocab_size, c.d_model);
    if (c.output_bias) add("output.bias", c.vocab_size);
    if (encoder) stack("encoder", "source_front", c.n_encoder_layers, false);
    stack("decoder", encoder ? "target_front" : "front", c.n_decoder_layers, encoder);
  }
  TinyModel(const TinyModel &) = delete;

  gf_model *create(int32_t precision, const char *kernels, std::string *error = nullptr) const {
    gf_model *model = nullptr;
    char message[256] = "";
    gf_model_create(&config, tensors.data(), (int32_t)tensors.size(), precision, kernels, &model, message, sizeof message);
    if (error) *error = message;
    return model;
  }

  static gf_config usual(int32_t family = GF_ENCODER_DECODER) {
    gf_config c = {};
    c.size = sizeof c;
    c.family = family;
    c.vocab_size = c.source_vocab_size = 53;
    c.max_length = 40;
    c.d_model = 24;
    c.d_ff = 40;
    c.n_heads = 4;
    c.n_kv_heads = 4;
    c.d_k = c.d_v = 6;
    c.n_encoder_layers = c.n_decoder_layers = 2;
    c.relative_buckets = 8;
    c.relative_max_distance = 16;
    c.bias = 1;
    c.scale_embedding = 1;
    c.rotary_base = 10000.0;
    c.norm_epsilon = 1e-5;
    return c;
  }

 private:
  void add(const std::string &name, int64_t rows, int64_t columns = 0) {
    names_.push_back(name);
    data_.emplace_back((size_t)(rows * (columns ? columns : 1)));
    const bool norm = name.find("norm") != std::string::npos && name.find("weight") != std::string::npos;
    std::normal_distribution<float> spread(norm ? 1.0f : 0.0f, 0.3f);
    for (float &each : data_.back()) each = spread(random_);
    tensors.push_back({names_.back().c_str(), data_.back().data(), {rows, columns ? columns : 1}, columns ? 2 : 1});
  }
  void linear(const std::string &name, int64_t rows, int64_t columns) {
    add(name + ".weight", rows, columns);
    if (config.bias) add(name + ".bias", rows);
  }
  void norm(const std::string &name) {
    add(name + ".weight", config.d_model);
    if (config.norm_kind == GF_NORM_LAYER) add(name + ".bias", config.d_model);
  }
  void residual(const std::string &name) {
    norm(name + ".norm");
    if (config.norm == GF_NORM_SANDWICH) norm(name + ".norm_after");
  }
  void attention(const std::string &name) {
    const gf_config &c = config;
    linear(name + ".query", c.n_heads * c.d_k, c.d_model);
    linear(name + ".key", c.n_kv_heads * c.d_k, c.d_model);
    linear(name + ".value", c.n_kv_heads * c.d_v, c.d_model);
    linear(name + ".output", c.d_model, c.n_heads * c.d_v);
    residual(name + "_residual");
  }
  void stack(const std::string &name, const std::string &front, int32_t layers, bool cross) {
    const gf_config &c = config;
    for (int32_t i = 0; i < layers; i++) {
      const std::string block = name + ".blocks." + std::to_string(i) + ".";
      attention(block + "attention");
      if (cross) attention(block + "cross_attention");
      if (c.gated) linear(block + "feed_forward.gate", c.d_ff, c.d_model);
      linear(block + "feed_forward.expand", c.d_ff, c.d_model);
      linear(block + "feed_forward.contract", c.d_model, c.d_ff);
      residual(block + "feed_forward_residual");
    }
    if (c.norm != GF_NORM_POST) norm(name + ".norm");
    if (c.embedding_norm) norm(front + ".norm");
    if (c.positions == GF_POSITIONS_LEARNED) add(front + ".positions.weight", c.max_length, c.d_model);
    if (c.positions == GF_POSITIONS_RELATIVE) add(name + ".sight.bias.weight", c.relative_buckets, c.n_heads);
  }

  std::mt19937 random_;
  std::deque<std::string> names_;
  std::deque<std::vector<float>> data_;
};

// Random inputs as a batch of the interface.
struct TinyBatch {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets{0};
  gf_batch batch = {};

  TinyBatch(int32_t n, int32_t vocab, unsigned seed, int32_t longest = 12) {
    std::mt19937 random(seed);
    for (int32_t i = 0; i < n; i++) {
      const int32_t length = 1 + (int32_t)(random() % (unsigned)longest);
      for (int32_t t = 0; t < length; t++) ids.push_back((int32_t)(random() % (unsigned)vocab));
      offsets.push_back((int64_t)ids.size());
    }
    batch.size = sizeof batch;
    batch.n = n;
    batch.ids = ids.data();
    batch.offsets = offsets.data();
  }
  TinyBatch(const TinyBatch &) = delete;

  // One of its inputs alone.
  gf_batch only(int32_t i, int64_t (&places)[2]) const {
    gf_batch one = batch;
    places[0] = 0;
    places[1] = offsets[(size_t)i + 1] - offsets[(size_t)i];
    one.n = 1;
    one.ids = ids.data() + offsets[(size_t)i];
    one.offsets = places;
    return one;
  }
};

inline gf_options tiny_options(int32_t beam, int32_t nbest = 1) {
  gf_options options = {};
  options.size = sizeof options;
  options.start_id = 1;
  options.end_id = 2;
  options.beam = beam;
  options.nbest = nbest;
  options.alpha = 0.6;
  options.max_length = 12;
  options.want_scores = 1;
  return options;
}
