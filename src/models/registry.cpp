#include "models/registry.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "models/mage_vl/model.h"
#include "models/qwen3/model.h"

namespace mlxcel::models {
namespace {

constexpr std::array kFamilies = {
    Family{"mage_vl", parse_mage_vl, make_mage_vl},
    Family{"qwen3", parse_qwen3_family, make_qwen3},
};

// Null when there is none.
const Family* family_named(std::string_view model_type) {
  const auto it = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& family) {
    return family.model_type == model_type;
  });
  return it == kFamilies.end() ? nullptr : &*it;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family& find_family(const base::JsonField& config) {
  const std::string type = config.at("model_type").as_string();
  if (const Family* family = family_named(type)) return *family;
  std::string known;
  for (const Family& family : kFamilies) {
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  throw base::unsupported("{} is '{}', which is not supported; supported are {}",
                          config.at("model_type").where(), type.substr(0, 60), known);
}

std::unique_ptr<FamilyConfig> load_family_config(const std::filesystem::path& folder) {
  const ConfigFile file = ConfigFile::load(folder);
  auto config = find_family(file.root()).parse_config(file.root());
  add_generation_config(folder, config->info);
  return config;
}

std::unique_ptr<Model> load_model(const std::filesystem::path& folder, const FamilyConfig& config,
                                  const ops::Context& context) {
  const auto tensors = checkpoint::TensorSet::open(folder);
  const auto weights = checkpoint::Weights::load(tensors, config.schema, config.quantization);
  const Family* family = family_named(config.info.model_type);
  if (family == nullptr) throw base::internal_error("no family '{}'", config.info.model_type);
  return family->make_model(config, weights, context);
}

}  // namespace mlxcel::models
