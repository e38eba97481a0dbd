#include "models/decoders/qwen3_config.h"

#include "base/error.h"

namespace mlxcel::models {
namespace {

using base::bad_input;
using base::JsonField;
using base::unsupported;
using checkpoint::TensorRole;
using checkpoint::TensorRow;

constexpr int64_t kMaxWidth = 1 << 17;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxContext = int64_t{1} << 26;

// A nested rope block: its theta, if any; a type other than "default" is refused.
std::optional<float> nested_theta(const JsonField& json, std::string_view key) {
  const auto block = json.find(key);
  if (!block) return std::nullopt;
  const std::string type = block->string_or("rope_type", block->string_or("type", "default"));
  if (type != "default") {
    throw unsupported("{} asks for rope scaling of type '{}', which is not supported",
                      block->where(), type);
  }
  const auto theta = block->find("rope_theta");
  if (!theta) return std::nullopt;
  return static_cast<float>(theta->as_number());
}

float read_theta(const JsonField& json) {
  const auto flat = json.find("rope_theta");
  const auto parameters = nested_theta(json, "rope_parameters");
  const auto scaling = nested_theta(json, "rope_scaling");
  std::optional<float> theta;
  if (flat) {
    theta = static_cast<float>(flat->as_number());
  } else {
    theta = parameters ? parameters : scaling;
  }
  if (!theta) {
    throw bad_input("{} has neither 'rope_theta' nor 'rope_parameters.rope_theta'", json.where());
  }
  if (!(*theta >= 1.0F && *theta <= 1e12F)) {
    throw bad_input("{}: the rope base is {}, expected a number from 1 to 1e12", json.where(),
                    *theta);
  }
  return *theta;
}

void refuse(const JsonField& json, std::string_view key) {
  if (json.bool_or(key, false))
    throw unsupported("{} is true, which is not supported", json.at(key).where());
}

}  // namespace

const std::vector<std::string_view> kQwen3IgnoredTensors = {"rotary_emb.inv_freq"};

Qwen3Config parse_qwen3_config(const JsonField& json, bool tied_fallback) {
  Qwen3Config config;
  config.hidden = json.int_at("hidden_size", 1, kMaxWidth);
  config.layers = json.int_at("num_hidden_layers", 1, 1024);
  config.heads = json.int_at("num_attention_heads", 1, 1024);
  config.kv_heads = json.int_or("num_key_value_heads", config.heads, 1, config.heads);
  if (config.heads % config.kv_heads != 0) {
    throw bad_input("{}: num_attention_heads {} is no multiple of num_key_value_heads {}",
                    json.where(), config.heads, config.kv_heads);
  }
  config.head_dim = json.int_or("head_dim", config.hidden / config.heads, 2, 1024);
  if (config.head_dim % 2 != 0) {
    throw bad_input("{} is {}, expected an even number", json.at("head_dim").where(),
                    config.head_dim);
  }
  config.ffn = json.int_at("intermediate_size", 1, kMaxWidth * 8);
  config.vocab_size = json.int_at("vocab_size", 1, kMaxVocab);
  config.context_limit = json.int_or("max_position_embeddings", 32768, 1, kMaxContext);
  config.rms_norm_eps = static_cast<float>(json.number_or("rms_norm_eps", 1e-6));
  if (!(config.rms_norm_eps > 0 && config.rms_norm_eps < 1)) {
    throw bad_input("{} is {}, expected a number between 0 and 1", json.at("rms_norm_eps").where(),
                    config.rms_norm_eps);
  }
  config.rope_theta = read_theta(json);
  config.tied = json.bool_or("tie_word_embeddings", tied_fallback);
  const std::string activation = json.string_or("hidden_act", "silu");
  if (activation != "silu") {
    throw unsupported("{} is '{}'; only 'silu' is supported", json.at("hidden_act").where(),
                      activation);
  }
  refuse(json, "attention_bias");
  refuse(json, "use_sliding_window");
  return config;
}

std::vector<TensorRow> qwen3_tensors(const Qwen3Config& c) {
  const int64_t q = c.heads * c.head_dim;
  const int64_t kv = c.kv_heads * c.head_dim;
  const int64_t n = c.layers;
  const auto vector = TensorRole::kVector;
  const auto matrix = TensorRole::kMatrix;
  return {
      {"text.embed_tokens.weight", {c.vocab_size, c.hidden}, matrix},
      {"text.layers.{}.input_layernorm.weight", {c.hidden}, vector, n},
      {"text.layers.{}.self_attn.q_proj.weight", {q, c.hidden}, matrix, n},
      {"text.layers.{}.self_attn.k_proj.weight", {kv, c.hidden}, matrix, n},
      {"text.layers.{}.self_attn.v_proj.weight", {kv, c.hidden}, matrix, n},
      {"text.layers.{}.self_attn.o_proj.weight", {c.hidden, q}, matrix, n},
      {"text.layers.{}.self_attn.q_norm.weight", {c.head_dim}, vector, n},
      {"text.layers.{}.self_attn.k_norm.weight", {c.head_dim}, vector, n},
      {"text.layers.{}.post_attention_layernorm.weight", {c.hidden}, vector, n},
      {"text.layers.{}.mlp.gate_proj.weight", {c.ffn, c.hidden}, matrix, n},
      {"text.layers.{}.mlp.up_proj.weight", {c.ffn, c.hidden}, matrix, n},
      {"text.layers.{}.mlp.down_proj.weight", {c.hidden, c.ffn}, matrix, n},
      {"text.norm.weight", {c.hidden}, vector},
      {"head.weight", {c.vocab_size, c.hidden}, matrix, 0, c.tied},
  };
}

}  // namespace mlxcel::models
