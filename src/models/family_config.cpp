#include "models/family_config.h"

#include <algorithm>

#include "base/error.h"

namespace mlxcel::models {

ConfigFile ConfigFile::load(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  return {base::load_json(path), path.string()};
}

std::vector<int32_t> token_ids(const base::JsonField& parent, std::string_view key,
                               int64_t vocab_size) {
  const auto field = parent.find(key);
  if (!field) return {};
  const auto id = [&](const base::JsonField& f) {
    return static_cast<int32_t>(f.as_int(0, vocab_size - 1));
  };
  if (!field->value().is_array()) return {id(*field)};
  std::vector<int32_t> ids;
  for (const base::JsonField& item : field->as_list()) ids.push_back(id(item));
  return ids;
}

void merge_ids(std::vector<int32_t>& into, const std::vector<int32_t>& more) {
  for (const int32_t id : more) {
    if (std::find(into.begin(), into.end(), id) == into.end()) into.push_back(id);
  }
}

void add_generation_config(const std::filesystem::path& folder, ModelInfo& info) {
  const std::filesystem::path path = folder / "generation_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const base::Json document = base::load_json(path);
  merge_ids(info.eos_ids, token_ids({document, path.string()}, "eos_token_id", info.vocab_size));
}

}  // namespace mlxcel::models
