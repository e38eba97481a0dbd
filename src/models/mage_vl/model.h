// Mage-VL whole: tower and decoder. Positions of the decoder are plain 1-D positions, pictures
// included.
#pragma once

#include <memory>

#include "checkpoint/weights.h"
#include "models/mage_vl/config.h"
#include "models/model.h"

namespace mlxcel::models {

std::unique_ptr<Model> make_mage_vl(const FamilyConfig& config, const checkpoint::Weights& weights,
                                    const ops::Context& context);

}  // namespace mlxcel::models
