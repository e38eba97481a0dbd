// Dimensions and tensors of the Qwen3 decoder, which is a text model of its own and the language
// half of several vision-language families.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "checkpoint/schema.h"

namespace mlxcel::models {

struct Qwen3Config {
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  int64_t vocab_size = 0;
  int64_t context_limit = 0;
  float rms_norm_eps = 1e-6F;
  float rope_theta = 0;  // always read from the checkpoint, never a default
  bool tied = false;     // the head is the embedding table
};

// Reads a text config, checked. `tied_fallback` is tie_word_embeddings of an outer config. Rope
// settings are met flat (`rope_theta`) or nested (`rope_parameters.rope_theta`); neither is an
// error, since every default would be fluent and wrong. Throws kBadInput, and kUnsupported by name
// for rope scaling, sliding windows, attention biases or another activation.
Qwen3Config parse_qwen3_config(const base::JsonField& json, bool tied_fallback);

// Rows "text.*" and "head.weight".
std::vector<checkpoint::TensorRow> qwen3_tensors(const Qwen3Config& config);

// Buffers that some exporters store though they are computed.
extern const std::vector<std::string_view> kQwen3IgnoredTensors;

}  // namespace mlxcel::models
