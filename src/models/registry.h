// The families that this program knows: one row each.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "checkpoint/weights.h"
#include "models/family_config.h"
#include "models/model.h"

namespace mlxcel::models {

struct Family {
  std::string_view model_type;
  std::unique_ptr<FamilyConfig> (*parse_config)(const base::JsonField& json);
  std::unique_ptr<Model> (*make_model)(const FamilyConfig& config,
                                       const checkpoint::Weights& weights,
                                       const ops::Context& context);
};

std::span<const Family> families();

// The family of a model_type. Throws kUnsupported, listing those that are known.
const Family& find_family(const base::JsonField& config);

// config.json and generation_config.json of a folder.
std::unique_ptr<FamilyConfig> load_family_config(const std::filesystem::path& folder);

// The model of a folder, its weights mapped.
std::unique_ptr<Model> load_model(const std::filesystem::path& folder, const FamilyConfig& config,
                                  const ops::Context& context);

}  // namespace mlxcel::models
