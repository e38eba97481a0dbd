// The Qwen3 text model.
#pragma once

#include "models/decoders/qwen3.h"
#include "models/qwen3/config.h"

namespace mlxcel::models {

std::unique_ptr<Model> make_qwen3(const FamilyConfig& config, const checkpoint::Weights& weights,
                                  const ops::Context& context);

}  // namespace mlxcel::models
