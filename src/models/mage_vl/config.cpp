#include "models/mage_vl/config.h"

#include "base/error.h"

namespace mlxcel::models {
namespace {

using base::bad_input;
using base::JsonField;
using base::unsupported;
using checkpoint::TensorRole;
using checkpoint::TensorRow;

constexpr int64_t kMaxWidth = 1 << 16;

// A field that must have one value because only that one is implemented.
void require_string(const JsonField& json, std::string_view key, std::string_view only) {
  const std::string found = json.string_or(key, std::string(only));
  if (found != only)
    throw unsupported("{} is '{}'; only '{}' is supported", json.at(key).where(), found, only);
}

void require_false(const JsonField& json, std::string_view key) {
  if (json.bool_or(key, false))
    throw unsupported("{} is true, which is not supported", json.at(key).where());
}

void require_int(const JsonField& json, std::string_view key, int64_t only) {
  const int64_t found = json.int_or(key, only, 0, kMaxWidth);
  if (found != only)
    throw unsupported("{} is {}; only {} is supported", json.at(key).where(), found, only);
}

MageVisionConfig parse_vision(const JsonField& json, int64_t text_hidden) {
  MageVisionConfig c;
  require_false(json, "use_patch_position_encoding");
  require_false(json, "use_head");
  require_string(json, "layer_norm_type", "layer_norm");
  require_string(json, "hidden_act", "gelu");
  require_int(json, "temporal_patch_size", 1);
  require_int(json, "num_channels", 3);
  // Two is what the tower's row order and the published merger are defined for.
  require_int(json, "spatial_merge_size", 2);
  c.merge = 2;
  c.hidden = json.int_at("hidden_size", 1, kMaxWidth);
  c.layers = json.int_at("num_hidden_layers", 1, 1024);
  c.heads = json.int_at("num_attention_heads", 1, 1024);
  c.ffn = json.int_at("intermediate_size", 1, kMaxWidth * 8);
  c.patch = json.int_at("patch_size", 1, 64);
  if (c.hidden % c.heads != 0 || c.head_dim() % 32 != 0) {
    throw bad_input("{}: hidden_size {} over num_attention_heads {} must be a multiple of 32",
                    json.where(), c.hidden, c.heads);
  }
  c.out_hidden = json.int_or("out_hidden_size", text_hidden, 1, kMaxWidth * 2);
  if (c.out_hidden != text_hidden) {
    throw bad_input("{} is {}, expected text_config.hidden_size, {}",
                    json.at("out_hidden_size").where(), c.out_hidden, text_hidden);
  }
  c.frame_window = json.int_or("frame_windows_size", 4, 1, 1 << 20);
  c.layer_norm_eps = static_cast<float>(json.number_or("layer_norm_eps", 1e-6));
  c.rope_theta = static_cast<float>(json.number_or("rope_theta", 10000.0));
  if (!(c.layer_norm_eps > 0 && c.layer_norm_eps < 1) ||
      !(c.rope_theta >= 1 && c.rope_theta <= 1e12F)) {
    throw bad_input("{}: layer_norm_eps {} or rope_theta {} is out of range", json.where(),
                    c.layer_norm_eps, c.rope_theta);
  }
  return c;
}

std::vector<TensorRow> vision_tensors(const MageVisionConfig& c) {
  const int64_t h = c.hidden;
  const int64_t n = c.layers;
  const int64_t folded = h * c.merge * c.merge;
  const auto vector = TensorRole::kVector;
  const auto matrix = TensorRole::kMatrix;
  const std::string layer = "visual.encoder.layers.{}.";
  return {
      {"visual.embeddings.patch_embedding.weight",
       {h, c.channels, c.patch, c.patch},
       TensorRole::kPatchKernel},
      {"visual.layernorm_pre.weight", {h}, vector},
      {"visual.layernorm_pre.bias", {h}, vector},
      {layer + "layer_norm1.weight", {h}, vector, n},
      {layer + "layer_norm1.bias", {h}, vector, n},
      {layer + "self_attn.qkv.weight", {3 * h, h}, matrix, n},  // rows q | k | v
      {layer + "self_attn.qkv.bias", {3 * h}, vector, n},
      {layer + "self_attn.proj.weight", {h, h}, matrix, n},
      {layer + "self_attn.proj.bias", {h}, vector, n},
      {layer + "layer_norm2.weight", {h}, vector, n},
      {layer + "layer_norm2.bias", {h}, vector, n},
      {layer + "mlp.fc1.weight", {c.ffn, h}, matrix, n},
      {layer + "mlp.fc1.bias", {c.ffn}, vector, n},
      {layer + "mlp.fc2.weight", {h, c.ffn}, matrix, n},
      {layer + "mlp.fc2.bias", {h}, vector, n},
      {"visual.merger.ln_q.weight", {h}, vector},
      {"visual.merger.ln_q.bias", {h}, vector},
      {"visual.merger.mlp.0.weight", {folded, folded}, matrix},
      {"visual.merger.mlp.0.bias", {folded}, vector},
      {"visual.merger.mlp.2.weight", {c.out_hidden, folded}, matrix},
      {"visual.merger.mlp.2.bias", {c.out_hidden}, vector},
  };
}

}  // namespace

std::unique_ptr<FamilyConfig> parse_mage_vl(const JsonField& json) {
  auto config = std::make_unique<MageVlConfig>();
  const JsonField text = json.at("text_config");
  const std::string text_type = text.string_or("model_type", "qwen3");
  if (text_type != "qwen3") {
    throw unsupported("{} is '{}'; only 'qwen3' is supported", text.at("model_type").where(),
                      text_type);
  }
  config->text = parse_qwen3_config(text, json.bool_or("tie_word_embeddings", false));
  config->vision = parse_vision(json.at("vision_config"), config->text.hidden);
  config->quantization = checkpoint::QuantizationConfig::parse(json);

  const int64_t vocab = config->text.vocab_size;
  const auto required_id = [&](std::string_view key) {
    return static_cast<int32_t>(json.int_at(key, 0, vocab - 1));
  };
  const int32_t image_id = required_id("image_token_id");
  config->info = {
      .model_type = "mage_vl",
      .description = "Mage-VL (Mage-ViT 3-D RoPE, 2x2 merger, Qwen3)",
      .layers = config->text.layers,
      .kv_heads = config->text.kv_heads,
      .head_dim = config->text.head_dim,
      .vocab_size = vocab,
      .context_limit = config->text.context_limit,
      .eos_ids = token_ids(json, "eos_token_id", vocab),
      .suppressed_ids = {required_id("vision_start_token_id"), required_id("vision_end_token_id"),
                         image_id, required_id("video_token_id")},
      .images = ImageTokens{.placeholder_id = image_id,
                            .patch = config->vision.patch,
                            .merge = config->vision.merge,
                            .temporal = 1}};
  // <|endoftext|> is this family's bos_token_id; it never begins a text, but it ends one.
  merge_ids(config->info.eos_ids, token_ids(json, "bos_token_id", vocab));

  config->schema.family = "mage_vl";
  config->schema.rows = qwen3_tensors(config->text);
  for (TensorRow& row : vision_tensors(config->vision))
    config->schema.rows.push_back(std::move(row));
  config->schema.layouts = {
      {"hub",
       {{"visual.", "model.visual."}, {"text.", "model.language_model."}, {"head.", "lm_head."}}},
      {"mlx",
       {{"visual.", "vision_tower."},
        {"text.", "language_model.model."},
        {"head.", "language_model.lm_head."}}},
  };
  config->schema.ignored = kQwen3IgnoredTensors;
  return config;
}

}  // namespace mlxcel::models
