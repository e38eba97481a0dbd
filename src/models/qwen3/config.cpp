#include "models/qwen3/config.h"

namespace mlxcel::models {

std::unique_ptr<FamilyConfig> parse_qwen3_family(const base::JsonField& json) {
  auto config = std::make_unique<Qwen3FamilyConfig>();
  config->text = parse_qwen3_config(json, false);
  config->quantization = checkpoint::QuantizationConfig::parse(json);
  config->info = {.model_type = "qwen3",
                  .description = "Qwen3 (text)",
                  .layers = config->text.layers,
                  .kv_heads = config->text.kv_heads,
                  .head_dim = config->text.head_dim,
                  .vocab_size = config->text.vocab_size,
                  .context_limit = config->text.context_limit,
                  .eos_ids = token_ids(json, "eos_token_id", config->text.vocab_size),
                  .suppressed_ids = {},
                  .images = std::nullopt};
  // Hub and MLX checkpoints of this family spell their tensors alike.
  config->schema = {.family = "qwen3",
                    .rows = qwen3_tensors(config->text),
                    .layouts = {{"hub", {{"text.", "model."}, {"head.", "lm_head."}}}},
                    .ignored = kQwen3IgnoredTensors};
  return config;
}

}  // namespace mlxcel::models
