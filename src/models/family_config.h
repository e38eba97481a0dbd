// What every family's config.json is turned into: the facts that the rest of the program needs, and
// the table of the family's tensors. No MLX here, so that a checkpoint can be inspected, and
// configs fuzzed, without a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/quantization.h"
#include "checkpoint/schema.h"

namespace mlxcel::models {

// How a family takes still pictures: the chat template's placeholder, expanded to one token for
// each row that the vision tower gives.
struct ImageTokens {
  int32_t placeholder_id = 0;
  // What the checkpoint's image processor must say too.
  int64_t patch = 0;
  int64_t merge = 0;
  int64_t temporal = 1;
};

struct ModelInfo {
  std::string model_type;   // as in config.json
  std::string description;  // for people
  int64_t layers = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab_size = 0;
  int64_t context_limit = 0;            // tokens
  std::vector<int32_t> eos_ids;         // any of these ends an answer
  std::vector<int32_t> suppressed_ids;  // never generated
  std::optional<ImageTokens> images;    // nothing: text only
};

struct FamilyConfig {
  virtual ~FamilyConfig() = default;

  ModelInfo info;
  checkpoint::Schema schema;
  checkpoint::QuantizationConfig quantization;
};

// config.json of a folder with its path, for messages. Throws kNotFound or kBadInput.
struct ConfigFile {
  base::Json document;
  std::string path;

  static ConfigFile load(const std::filesystem::path& folder);
  base::JsonField root() const { return {document, path}; }
};

// Token ids of a field that holds one, a list, or is absent; each in [0, vocab_size).
std::vector<int32_t> token_ids(const base::JsonField& parent, std::string_view key,
                               int64_t vocab_size);

// Adds what generation_config.json says about the end of an answer, if the folder has one.
void add_generation_config(const std::filesystem::path& folder, ModelInfo& info);

// Appends ids that are not there yet.
void merge_ids(std::vector<int32_t>& into, const std::vector<int32_t>& more);

}  // namespace mlxcel::models
