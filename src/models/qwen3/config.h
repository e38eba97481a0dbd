// `model_type: qwen3`: the decoder as a text model of its own.
#pragma once

#include <memory>

#include "models/decoders/qwen3_config.h"
#include "models/family_config.h"

namespace mlxcel::models {

struct Qwen3FamilyConfig : FamilyConfig {
  Qwen3Config text;
};

// Throws as parse_qwen3_config does.
std::unique_ptr<FamilyConfig> parse_qwen3_family(const base::JsonField& json);

}  // namespace mlxcel::models
