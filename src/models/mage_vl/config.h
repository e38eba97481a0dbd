// `model_type: mage_vl`: Mage-ViT, a 2x2 merger and the Qwen3 decoder.
// Source: config.json of microsoft/Mage-VL.
#pragma once

#include <memory>

#include "models/decoders/qwen3_config.h"
#include "models/family_config.h"

namespace mlxcel::models {

struct MageVisionConfig {
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t ffn = 0;
  int64_t channels = 3;
  int64_t patch = 0;
  int64_t merge = 0;
  int64_t out_hidden = 0;
  int64_t frame_window = 0;  // frames that attend to each other
  float layer_norm_eps = 1e-6F;
  float rope_theta = 0;

  int64_t head_dim() const { return hidden / heads; }
  int64_t patch_width() const { return channels * patch * patch; }
};

struct MageVlConfig : FamilyConfig {
  Qwen3Config text;
  MageVisionConfig vision;
};

// Throws kBadInput, and kUnsupported by name for what no published checkpoint has, e.g.
// vision_config.use_patch_position_encoding.
std::unique_ptr<FamilyConfig> parse_mage_vl(const base::JsonField& json);

}  // namespace mlxcel::models
