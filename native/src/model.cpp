#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "failure.h"

namespace gf {

namespace {

constexpr int32_t kLargest = 1 << 24;       // of any size in a configuration
constexpr int32_t kLongestWithBias = 1 << 16;  // biases are tables over all distances
constexpr int64_t kWidestInt8 = 1 << 17;    // sums of so many products of bytes fit 32 bits
constexpr int64_t kTableRows = 2048;        // waves and turns beyond are computed when needed

void check_size(const char *name, int32_t value, int32_t least = 1) {
  require(value >= least && value <= kLargest, std::string(name) + " = " + std::to_string(value) +
                                                   " is out of range; it must be from " + std::to_string(least) +
                                                   " to " + std::to_string(kLargest));
}

void check_choice(const char *name, int32_t value, int32_t last) {
  require(value >= 0 && value <= last, std::string(name) + " = " + std::to_string(value) + " names nothing");
}

const gf_config &checked(const gf_config &c) {
  check_choice("family", c.family, GF_DECODER_ONLY);
  check_choice("positions", c.positions, GF_POSITIONS_NONE);
  check_choice("norm", c.norm, GF_NORM_SANDWICH);
  check_choice("norm_kind", c.norm_kind, GF_NORM_RMS);
  check_choice("activation", c.activation, GF_SILU);
  check_choice("tying", c.tying, GF_TYING_NONE);
  check_size("vocab_size", c.vocab_size);
  check_size("max_length", c.max_length);
  check_size("d_model", c.d_model);
  check_size("d_ff", c.d_ff);
  check_size("n_heads", c.n_heads);
  check_size("n_kv_heads", c.n_kv_heads);
  check_size("d_k", c.d_k);
  check_size("d_v", c.d_v);
  check_size("n_decoder_layers", c.n_decoder_layers);
  if (c.family == GF_ENCODER_DECODER) {
    check_size("n_encoder_layers", c.n_encoder_layers);
    check_size("source_vocab_size", c.source_vocab_size);
    require(c.tying != GF_TYING_THREE_WAY || c.source_vocab_size == c.vocab_size,
            "tying three ways needs one vocabulary, but source_vocab_size and vocab_size differ");
  }
  require(c.n_heads % c.n_kv_heads == 0, "n_kv_heads does not divide n_heads");
  require((int64_t)c.n_heads * std::max(c.d_k, c.d_v) <= kLargest, "the heads together are too wide");
  require(c.norm_epsilon > 0 && std::isfinite(c.norm_epsilon), "norm_epsilon is not above 0");
  require(c.positions != GF_POSITIONS_ROTARY || (c.d_k % 2 == 0 && c.rotary_base > 1 && std::isfinite(c.rotary_base)),
          "rotary positions need an even d_k and a base above 1");
  require(c.positions != GF_POSITIONS_SINUSOIDAL || c.d_model % 2 == 0, "sinusoidal positions need an even d_model");
  if (c.positions == GF_POSITIONS_RELATIVE) {
    check_size("relative_buckets", c.relative_buckets, 4);
    check_size("relative_max_distance", c.relative_max_distance);
    require(c.relative_max_distance > c.relative_buckets / 2,
            "relative_max_distance must be more than half of relative_buckets");
  }
  if ((c.positions == GF_POSITIONS_RELATIVE || c.positions == GF_POSITIONS_ALIBI) && c.max_length > kLongestWithBias)
    throw Failure(GF_UNSUPPORTED, "biases by distance are supported up to a max_length of 65536");
  return c;
}

HeadShape head_shape(const gf_config &c) {
  return {c.n_heads, c.n_kv_heads, c.d_k, (int32_t)round_up(c.d_k, 16), (int32_t)round_up(c.d_v, 16),
          (float)(1.0 / std::sqrt((double)c.d_k))};
}

// Halving geometric slopes; for a number of heads between powers of two, every other one of the next.
std::vector<double> alibi_slopes(int32_t n_heads) {
  int32_t power = 1;
  while (power * 2 <= n_heads) power *= 2;
  std::vector<double> slopes;
  for (int32_t i = 0; i < power; i++) slopes.push_back(std::pow(2.0, -8.0 * (i + 1) / power));
  for (int32_t i = 0; i < n_heads - power; i++) slopes.push_back(std::pow(2.0, -4.0 * (2 * i + 1) / power));
  return slopes;
}

// The bucket of an offset (key minus query), as T5 has it: in float32, so that boundaries fall alike.
int64_t relative_bucket(int64_t offset, int64_t n_buckets, int64_t max_distance, bool causal) {
  int64_t start = 0, distance = std::max<int64_t>(-offset, 0);
  if (!causal) {
    n_buckets /= 2;
    start = offset > 0 ? n_buckets : 0;
    distance = std::abs(offset);
  }
  const int64_t exact = n_buckets / 2;
  if (distance < exact) return start + distance;
  const float ratio = std::log((float)std::max<int64_t>(distance, 1) / (float)exact) /
                      (float)std::log((double)max_distance / (double)exact);
  return start + std::min(exact + (int64_t)(ratio * (float)(n_buckets - exact)), n_buckets - 1);
}

}  // namespace

// The tensors by name, each read exactly once.
class Model::Reader {
 public:
  Reader(const gf_tensor *tensors, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
      const gf_tensor &each = tensors[i];
      require(each.name && each.data, "tensor " + std::to_string(i) + " has no name or no data");
      require(each.rank == 1 || each.rank == 2, std::string(each.name) + ": a rank other than 1 and 2");
      require(tensors_.emplace(each.name, &each).second, std::string(each.name) + ": given twice");
    }
  }

  bool has(const std::string &name) const { return tensors_.count(name) != 0; }

  const float *matrix(const std::string &name, int64_t rows, int64_t columns) {
    const gf_tensor &found = take(name);
    require(found.rank == 2 && found.shape[0] == rows && found.shape[1] == columns,
            name + ": its shape is not (" + std::to_string(rows) + ", " + std::to_string(columns) + ")");
    return found.data;
  }

  const float *vector(const std::string &name, int64_t n) {
    const gf_tensor &found = take(name);
    const int64_t size = found.shape[0] == 1 ? found.shape[1] : found.shape[0];
    const bool flat = found.shape[0] == 1 || found.shape[1] == 1;
    require(found.rank == 1 && flat && size == n, name + ": its shape is not (" + std::to_string(n) + ")");
    return found.data;
  }

  void check_all_taken() const {
    for (const auto &each : tensors_) require(taken_.count(each.first) != 0, each.first + ": no such parameter");
  }

 private:
  const gf_tensor &take(const std::string &name) {
    const auto found = tensors_.find(name);
    require(found != tensors_.end(), name + ": this parameter is missing");
    taken_.insert(name);
    return *found->second;
  }

  std::map<std::string, const gf_tensor *> tensors_;
  std::set<std::string> taken_;
};

Norm::Norm(const float *weight, const float *bias, int32_t width, float epsilon) {
  const int64_t padded = round_up(width, 16);
  weight_.reserve(padded);
  weight_.zero();
  std::memcpy(weight_.data(), weight, sizeof(float) * (size_t)width);
  if (bias) {
    bias_.reserve(padded);
    bias_.zero();
    std::memcpy(bias_.data(), bias, sizeof(float) * (size_t)width);
  }
  view_ = {weight_.data(), bias ? bias_.data() : nullptr, epsilon, width};
}

Model::Model(const gf_config &given, const gf_tensor *tensors, int32_t n_tensors, bool use_int8, const Kernels &set)
    : config(checked(given)), kernels(set), int8(use_int8), heads(head_shape(given)) {
  const gf_config &c = config;
  width = (int32_t)round_up(c.d_model, 16);
  gate_offset = c.gated ? (int32_t)round_up(c.d_ff, 16) : 0;
  line_width = heads.key_heads * (heads.key_width + heads.value_width);
  activation = (Activation)c.activation;

  const int64_t widest = std::max({(int64_t)c.d_model, (int64_t)c.d_ff, (int64_t)heads.heads * heads.value_width});
  if (int8 && widest > kWidestInt8) throw Failure(GF_UNSUPPORTED, "int8 is supported up to a width of 131072");

  Reader reader(tensors, n_tensors);
  const char *names[] = {"target_embedding.weight", "source_embedding.weight", "output.weight"};
  const char *alone[] = {"embedding.weight", "output.weight"};
  const float *target = nullptr, *projection = nullptr;
  // A tied matrix may be given under any of its names, and under several: they must then be equal.
  auto tied = [&](std::vector<std::string> candidates) {
    const float *found = nullptr;
    for (const std::string &name : candidates) {
      if (!reader.has(name)) continue;
      const float *data = reader.matrix(name, c.vocab_size, c.d_model);
      const size_t size = sizeof(float) * (size_t)c.vocab_size * (size_t)c.d_model;
      require(!found || found == data || std::memcmp(found, data, size) == 0,
              name + ": it is tied to " + candidates[0] + ", but differs from it");
      found = data;
    }
    require(found != nullptr, candidates[0] + ": this parameter is missing");
    return found;
  };
  if (has_encoder()) {
    if (c.tying == GF_TYING_THREE_WAY) {
      target = projection = tied({names[0], names[1], names[2]});
    } else {
      target = c.tying == GF_TYING_TWO_WAY ? tied({names[0], names[2]}) : reader.matrix(names[0], c.vocab_size, c.d_model);
      const float *source = reader.matrix(names[1], c.source_vocab_size, c.d_model);
      source_embedding_.assign(source, source + (int64_t)c.source_vocab_size * c.d_model);
    }
  } else {
    target = c.tying == GF_TYING_NONE ? reader.matrix(alone[0], c.vocab_size, c.d_model) : tied({alone[0], alone[1]});
  }
  if (!projection)
    projection = c.tying == GF_TYING_NONE ? reader.matrix("output.weight", c.vocab_size, c.d_model) : target;
  target_embedding_.assign(target, target + (int64_t)c.vocab_size * c.d_model);

  if (has_encoder()) read_stack(reader, "encoder", "source_front", c.n_encoder_layers, encoder);
  read_stack(reader, "decoder", has_encoder() ? "target_front" : "front", c.n_decoder_layers, decoder);
  LinearBuilder builder(c.d_model, c.d_model, c.d_model);
  builder.add(projection, c.output_bias ? reader.vector("output.bias", c.vocab_size) : nullptr, c.vocab_size,
              c.vocab_size, c.vocab_size);
  output = built(builder);
  reader.check_all_taken();
  make_tables();
  bytes_ += (int64_t)sizeof(float) * (int64_t)(source_embedding_.size() + target_embedding_.size() + waves_.size() +
                                               turns_.size() + encoder.bias.size() + decoder.bias.size() +
                                               encoder.learned.size() + decoder.learned.size());
}

Linear Model::built(const LinearBuilder &builder) {
  Linear linear = builder.build(int8, kernels.weight_offset);
  bytes_ += linear.bytes();
  return linear;
}

Norm Model::read_norm(Reader &reader, const std::string &name) {
  const float *weight = reader.vector(name + ".weight", config.d_model);
  const float *bias = config.norm_kind == GF_NORM_LAYER ? reader.vector(name + ".bias", config.d_model) : nullptr;
  return Norm(weight, bias, config.d_model, (float)config.norm_epsilon);
}

Residual Model::read_residual(Reader &reader, const std::string &name) {
  Residual residual;
  residual.norm = read_norm(reader, name + ".norm");
  if (config.norm == GF_NORM_SANDWICH) residual.norm_after = read_norm(reader, name + ".norm_after");
  return residual;
}

void Model::read_layer(Reader &reader, const std::string &name, bool cross, Layer &layer) {
  const gf_config &c = config;
  const int32_t d = c.d_model, keys = c.n_heads * c.d_k, values = c.n_heads * c.d_v;
  const int32_t shared_keys = c.n_kv_heads * c.d_k, shared_values = c.n_kv_heads * c.d_v;
  auto add = [&](LinearBuilder &builder, const std::string &part, int32_t rows, int32_t columns, int32_t group,
                 int32_t padded) {
    const float *weight = reader.matrix(name + part + ".weight", rows, columns);
    builder.add(weight, c.bias ? reader.vector(name + part + ".bias", rows) : nullptr, rows, group, padded);
  };
  auto input = [&] { return LinearBuilder(d, d, d); };
  auto heads_input = [&] { return LinearBuilder(values, c.d_v, heads.value_width); };

  LinearBuilder self = input(), self_output = heads_input();
  add(self, "attention.query", keys, d, c.d_k, heads.key_width);
  add(self, "attention.key", shared_keys, d, c.d_k, heads.key_width);
  add(self, "attention.value", shared_values, d, c.d_v, heads.value_width);
  layer.query_key_value = built(self);
  add(self_output, "attention.output", d, values, d, d);
  layer.attention_output = built(self_output);
  layer.attention_residual = read_residual(reader, name + "attention_residual");

  if (cross) {
    LinearBuilder query = input(), memory = input(), cross_output = heads_input();
    add(query, "cross_attention.query", keys, d, c.d_k, heads.key_width);
    layer.cross_query = built(query);
    add(memory, "cross_attention.key", shared_keys, d, c.d_k, heads.key_width);
    add(memory, "cross_attention.value", shared_values, d, c.d_v, heads.value_width);
    layer.cross_key_value = built(memory);
    add(cross_output, "cross_attention.output", d, values, d, d);
    layer.cross_output = built(cross_output);
    layer.cross_residual = read_residual(reader, name + "cross_attention_residual");
  }

  LinearBuilder expand = input(), contract(c.d_ff, c.d_ff, c.d_ff);
  const int32_t padded = (int32_t)round_up(c.d_ff, 16);
  if (c.gated) add(expand, "feed_forward.gate", c.d_ff, d, c.d_ff, padded);
  add(expand, "feed_forward.expand", c.d_ff, d, c.d_ff, padded);
  layer.expand = built(expand);
  add(contract, "feed_forward.contract", d, c.d_ff, d, d);
  layer.contract = built(contract);
  layer.feed_forward_residual = read_residual(reader, name + "feed_forward_residual");
}

void Model::read_stack(Reader &reader, const std::string &name, const std::string &front, int32_t layers,
                       Stack &stack) {
  const bool cross = has_encoder() && name == "decoder", causal = name == "decoder";
  for (int32_t i = 0; i < layers; i++) {  // one at a time: a missing parameter ends it before much is allocated
    stack.layers.emplace_back();
    read_layer(reader, name + ".blocks." + std::to_string(i) + ".", cross, stack.layers.back());
  }
  if (config.norm != GF_NORM_POST) stack.norm = read_norm(reader, name + ".norm");
  if (config.embedding_norm) stack.embedding_norm = read_norm(reader, front + ".norm");
  if (config.positions == GF_POSITIONS_LEARNED) {
    const float *learned = reader.matrix(front + ".positions.weight", config.max_length, config.d_model);
    stack.learned.assign(learned, learned + (int64_t)config.max_length * config.d_model);
  }
  stack.bias = read_bias(reader, name, causal);
}

std::vector<float> Model::read_bias(Reader &reader, const std::string &name, bool causal) {
  std::vector<float> table;
  if (config.positions != GF_POSITIONS_ALIBI && config.positions != GF_POSITIONS_RELATIVE) return table;
  const int64_t reach = config.max_length, n_heads = config.n_heads;
  table.resize((size_t)(n_heads * bias_stride()));
  const float *weight = nullptr;
  std::vector<double> slopes;
  if (config.positions == GF_POSITIONS_RELATIVE)
    weight = reader.matrix(name + ".sight.bias.weight", config.relative_buckets, n_heads);
  else
    slopes = alibi_slopes(config.n_heads);
  for (int64_t offset = -reach; offset <= reach; offset++) {
    const int64_t bucket =
        weight ? relative_bucket(offset, config.relative_buckets, config.relative_max_distance, causal) : 0;
    for (int64_t h = 0; h < n_heads; h++)
      table[(size_t)(h * bias_stride() + reach + offset)] =
          weight ? weight[bucket * n_heads + h] : (float)(-slopes[(size_t)h] * (double)std::abs(offset));
  }
  return table;
}

const float *Model::bias(const Stack &stack) const {
  return stack.bias.empty() ? nullptr : stack.bias.data() + config.max_length;
}

void Model::make_tables() {
  table_rows_ = std::min<int64_t>(config.max_length, kTableRows);
  if (config.positions == GF_POSITIONS_SINUSOIDAL) waves_.resize((size_t)(table_rows_ * config.d_model));
  if (config.positions == GF_POSITIONS_ROTARY) turns_.resize((size_t)(table_rows_ * config.d_k));
  for (int64_t p = 0; p < table_rows_; p++) {
    if (!waves_.empty()) add_wave(p, &waves_[(size_t)(p * config.d_model)]);
    for (int32_t i = 0; !turns_.empty() && i < config.d_k / 2; i++) {
      const double angle = (double)p / std::pow(config.rotary_base, 2.0 * i / config.d_k);
      turns_[(size_t)(p * config.d_k + 2 * i)] = (float)std::cos(angle);
      turns_[(size_t)(p * config.d_k + 2 * i + 1)] = (float)std::sin(angle);
    }
  }
}

// Adds the paper's waves: sin(pos / 10000^(2i/d)) at feature 2i, its cosine at 2i + 1.
void Model::add_wave(int64_t position, float *out) const {
  for (int32_t i = 0; i < config.d_model; i += 2) {
    const double angle = (double)position / std::pow(10000.0, (double)i / config.d_model);
    out[i] += (float)std::sin(angle);
    out[i + 1] += (float)std::cos(angle);
  }
}

void Model::embed(const Stack &stack, int32_t token, int64_t position, float *out) const {
  const int32_t d = config.d_model;
  const bool source = &stack == &encoder && !source_embedding_.empty();
  const float *vector = (source ? source_embedding_ : target_embedding_).data() + (int64_t)token * d;
  const float scale = config.scale_embedding ? (float)std::sqrt((double)d) : 1.0f;
  for (int32_t i = 0; i < d; i++) out[i] = vector[i] * scale;
  for (int32_t i = d; i < width; i++) out[i] = 0.0f;
  const float *place = nullptr;
  if (config.positions == GF_POSITIONS_LEARNED) place = stack.learned.data() + position * d;
  if (config.positions == GF_POSITIONS_SINUSOIDAL) {
    if (position >= table_rows_) return add_wave(position, out);
    place = waves_.data() + position * d;
  }
  for (int32_t i = 0; place && i < d; i++) out[i] += place[i];
}

void Model::rotate(float *row, int32_t n_heads, int64_t position) const {
  if (config.positions != GF_POSITIONS_ROTARY) return;
  const int32_t half = config.d_k / 2;
  for (int32_t i = 0; i < half; i++) {
    float cosine, sine;
    if (position < table_rows_) {
      cosine = turns_[(size_t)(position * config.d_k + 2 * i)];
      sine = turns_[(size_t)(position * config.d_k + 2 * i + 1)];
    } else {
      const double angle = (double)position / std::pow(config.rotary_base, 2.0 * i / config.d_k);
      cosine = (float)std::cos(angle);
      sine = (float)std::sin(angle);
    }
    for (int32_t h = 0; h < n_heads; h++) {  // feature i turns together with feature i + d_k/2
      float &first = row[h * heads.key_width + i], &second = row[h * heads.key_width + i + half];
      const float a = first, b = second;
      first = a * cosine - b * sine;
      second = b * cosine + a * sine;
    }
  }
}

}  // namespace gf
