#include "checkpoint/quantization.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"

namespace mlxcel::checkpoint {
namespace {

using base::JsonField;

constexpr std::array<int64_t, 6> kBits = {2, 3, 4, 5, 6, 8};
constexpr std::array<int64_t, 3> kGroups = {32, 64, 128};
constexpr QuantSpec kMlxDefault = {.bits = 4, .group_size = 64};

template <size_t N>
int one_of(const JsonField& field, const std::array<int64_t, N>& allowed) {
  const int64_t value = field.as_int();
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    throw base::bad_input("{} is {}, expected one of {}", field.where(), value,
                          fmt::join(allowed.begin(), allowed.end(), ", "));
  }
  return static_cast<int>(value);
}

void check_mode(const JsonField& block) {
  const std::string mode = block.string_or("mode", "affine");
  if (mode != "affine") {
    throw base::unsupported("{} is '{}'; only 'affine' is supported", block.at("mode").where(),
                            base::printable(mode));
  }
}

// A module's own parameters. MLX hands them alone to the module's to_quantized, so a field that
// they leave out has MLX's default, not the block's (mlx.nn.quantize).
QuantSpec parse_override(const JsonField& field) {
  check_mode(field);
  QuantSpec spec = kMlxDefault;
  if (field.has("bits")) spec.bits = one_of(field.at("bits"), kBits);
  if (field.has("group_size")) spec.group_size = one_of(field.at("group_size"), kGroups);
  return spec;
}

}  // namespace

QuantizationConfig QuantizationConfig::parse(const JsonField& config) {
  QuantizationConfig result;
  auto block = config.find("quantization");
  if (!block) {
    block = config.find("quantization_config");
    // Hub checkpoints use the same name for other schemes, which say so.
    if (block && block->has("quant_method")) {
      const JsonField method = block->at("quant_method");
      throw base::unsupported("{} is '{}'; only MLX affine quantisation is supported",
                              method.where(), base::printable(method.as_string()));
    }
  }
  if (!block) return result;
  check_mode(*block);
  result.fallback_ =
      QuantSpec{one_of(block->at("bits"), kBits), one_of(block->at("group_size"), kGroups)};
  for (const auto& [key, value] : block->value().get_ref<const base::Json::object_t&>()) {
    if (key == "bits" || key == "group_size" || key == "mode" || value.is_null()) continue;
    const JsonField field(value,
                          fmt::format("{}, module '{}'", block->where(), base::printable(key)));
    if (value.is_object()) {
      result.overrides_[key] = parse_override(field);
    } else {
      result.overrides_[key] = field.as_bool() ? result.fallback_ : std::nullopt;
    }
  }
  return result;
}

std::optional<QuantSpec> QuantizationConfig::spec_of(const std::string& module) const {
  auto it = overrides_.find(module);
  // A text model quantised alone, then wrapped, keeps the names that it had alone.
  constexpr std::string_view kWrapper = "language_model.";
  if (it == overrides_.end() && module.starts_with(kWrapper))
    it = overrides_.find(module.substr(kWrapper.size()));
  return it == overrides_.end() ? fallback_ : it->second;
}

}  // namespace mlxcel::checkpoint
