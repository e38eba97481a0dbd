// The `quantization` block of config.json, in MLX's form: a default, and overrides by module path
// (mixed-precision checkpoints).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"

namespace mlxcel::checkpoint {

struct QuantSpec {
  int bits = 0;        // 2, 3, 4, 5, 6 or 8
  int group_size = 0;  // 32, 64 or 128
};

class QuantizationConfig {
 public:
  // Reads `quantization` (or its twin `quantization_config`) of a config; absent: nothing is
  // quantised. Throws kBadInput for bits or group sizes out of range, kUnsupported for a mode other
  // than "affine".
  static QuantizationConfig parse(const base::JsonField& config);

  // The spec of a module such as "language_model.model.layers.0.mlp.up_proj", nothing when the
  // config leaves it unquantised.
  std::optional<QuantSpec> spec_of(const std::string& module) const;

  bool empty() const { return !fallback_ && overrides_.empty(); }
  const std::optional<QuantSpec>& fallback() const { return fallback_; }
  const std::map<std::string, std::optional<QuantSpec>>& overrides() const { return overrides_; }

 private:
  std::optional<QuantSpec> fallback_;
  std::map<std::string, std::optional<QuantSpec>> overrides_;  // nothing: `false`, kept dense
};

}  // namespace mlxcel::checkpoint
