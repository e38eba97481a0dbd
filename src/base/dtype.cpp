#include "base/dtype.h"

#include <array>
#include <cmath>

namespace mlxcel::base {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  size_t size;
};
constexpr std::array<Row, 12> kRows = {{{DType::kF32, "F32", 4},
                                        {DType::kF16, "F16", 2},
                                        {DType::kBF16, "BF16", 2},
                                        {DType::kI8, "I8", 1},
                                        {DType::kU8, "U8", 1},
                                        {DType::kI16, "I16", 2},
                                        {DType::kU16, "U16", 2},
                                        {DType::kI32, "I32", 4},
                                        {DType::kU32, "U32", 4},
                                        {DType::kI64, "I64", 8},
                                        {DType::kU64, "U64", 8},
                                        {DType::kBool, "BOOL", 1}}};

}  // namespace

size_t dtype_size(DType dtype) { return kRows[static_cast<size_t>(dtype)].size; }

std::string_view dtype_name(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1FU;
  const uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00U);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7C00U);
  if (magnitude < 6.103515625e-05F) {  // subnormal result: multiples of 2^-24
    return static_cast<uint16_t>(sign |
                                 static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  }
  const uint32_t m = bits & 0x7FFFFFFFU;
  const uint32_t rounded = m + 0xFFFU + ((m >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

}  // namespace mlxcel::base
