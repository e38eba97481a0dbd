// Element types of tensors in checkpoints and kernels, by the names safetensors gives them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mlxcel::base {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool
};

// Bytes of one element.
size_t dtype_size(DType dtype);

// "F32", "BF16", "U32" ... as written in a safetensors header.
std::string_view dtype_name(DType dtype);

// Nothing for a type that this project does not read (F64, F8 ...).
std::optional<DType> parse_dtype(std::string_view name);

// Widening conversions of 16-bit floats, exact.
inline float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
float f16_to_f32(uint16_t bits);

// Narrowing with round-to-nearest-even; NaN stays NaN.
uint16_t f32_to_bf16(float value);
uint16_t f32_to_f16(float value);

}  // namespace mlxcel::base
