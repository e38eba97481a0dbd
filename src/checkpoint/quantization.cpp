#include "checkpoint/quantization.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace mlxcel::checkpoint {
namespace {

using base::JsonField;

constexpr std::array<int64_t, 6> kBits = {2, 3, 4, 5, 6, 8};
constexpr std::array<int64_t, 3> kGroups = {32, 64, 128};

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
    throw base::unsupported("{} is '{}'; only 'affine' is supported", block.at("mode").where(), mode);
  }
}

}  // namespace

QuantizationConfig QuantizationConfig::parse(const JsonField& config) {
  QuantizationConfig result;
  auto block = config.find("quantization");
  if (!block) {
    block = config.find("quantization_config");
    // Hub checkpoints use the same name for other schemes, which say so.
    if (block && block->has("quant_method")) {
      throw base::unsupported("{} is '{}'; only MLX affine quantisation is supported",
                              block->at("quant_method").where(), block->at("quant_method").value().dump());
    }
  }
  if (!block) return result;
  check_mode(*block);
  result.fallback_ = QuantSpec{one_of(block->at("bits"), kBits), one_of(block->at("group_size"), kGroups)};
  for (const auto& item : block->value().items()) {
    const JsonField field = item.value().is_null() ? *block : block->at(item.key());
    if (item.value().is_boolean()) {
      result.overrides_[item.key()] = item.value().get<bool>() ? result.fallback_ : std::nullopt;
    } else if (item.value().is_object()) {
      check_mode(field);
      QuantSpec spec = *result.fallback_;
      if (field.has("bits")) spec.bits = one_of(field.at("bits"), kBits);
      if (field.has("group_size")) spec.group_size = one_of(field.at("group_size"), kGroups);
      result.overrides_[item.key()] = spec;
    }
  }
  return result;
}

std::optional<QuantSpec> QuantizationConfig::spec_of(const std::string& module) const {
  const auto it = overrides_.find(module);
  return it == overrides_.end() ? fallback_ : it->second;
}

}  // namespace mlxcel::checkpoint
