// What the tests of this folder share: runs over every instruction set, seeded data, quantised
// matrices by the definition in weight_view.h, and buffers at odd addresses.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "kernels/dispatch.h"
#include "kernels/kernels.h"

namespace mlxcel::kernels::test {

// body() under each target that this machine has, then the best one again.
inline void for_each_target(const std::function<void()>& body) {
  for (const std::string& target : supported_targets()) {
    SCOPED_TRACE(target);
    force_target(target);
    body();
    if (testing::Test::HasFatalFailure()) break;
  }
  force_target("");
}

inline std::vector<float> random_floats(size_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

// Bytes at an address that is a multiple of 64 plus `shift`; nothing readable is promised after
// them.
class ShiftedBytes {
 public:
  ShiftedBytes() = default;
  ShiftedBytes(const std::vector<uint8_t>& bytes, size_t shift)
      : size_(bytes.size()), shift_(shift) {
    // Ends exactly at the end of the allocation, so that a sanitizer sees any read past it.
    memory_.resize(bytes.size() + shift);
    if (!bytes.empty()) std::memcpy(memory_.data() + shift, bytes.data(), bytes.size());
  }
  const uint8_t* data() const { return memory_.data() + shift_; }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
  size_t shift_ = 0;
  std::vector<uint8_t> memory_;
};

inline std::vector<uint8_t> narrow(const std::vector<float>& values, base::DType type) {
  std::vector<uint8_t> bytes(values.size() * base::dtype_size(type));
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == base::DType::kF32) {
      std::memcpy(&bytes[i * 4], &values[i], 4);
    } else {
      const uint16_t half =
          type == base::DType::kBF16 ? base::f32_to_bf16(values[i]) : base::f32_to_f16(values[i]);
      std::memcpy(&bytes[i * 2], &half, 2);
    }
  }
  return bytes;
}

inline float element(const uint8_t* bytes, size_t index, base::DType type) {
  if (type == base::DType::kF32) {
    float value;
    std::memcpy(&value, bytes + index * 4, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes + index * 2, 2);
  return type == base::DType::kBF16 ? base::bf16_to_f32(half) : base::f16_to_f32(half);
}

// Integers of `bits` bits as one little-endian stream of bits.
inline std::vector<uint8_t> pack_bits(const std::vector<uint32_t>& values, int bits) {
  std::vector<uint8_t> bytes((values.size() * static_cast<size_t>(bits) + 7) / 8, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    for (int b = 0; b < bits; ++b) {
      const size_t at = i * static_cast<size_t>(bits) + static_cast<size_t>(b);
      if ((values[i] >> b & 1u) != 0)
        bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | 1u << at % 8);
    }
  }
  return bytes;
}

// A matrix with its storage and its exact values.
struct Matrix {
  WeightView view;
  ShiftedBytes data;
  ShiftedBytes scales;
  ShiftedBytes biases;
  std::vector<double> values;  // [out, in]
};

struct MatrixSpec {
  int64_t out = 1;
  int64_t in = 1;
  base::DType dtype = base::DType::kF32;
  int bits = 0;
  int group_size = 0;
  size_t shift = 0;  // misalignment in bytes of all storage
  uint32_t seed = 1;
  float scale = 1.0f;
};

inline Matrix make_matrix(const MatrixSpec& spec) {
  Matrix m;
  const auto count = static_cast<size_t>(spec.out * spec.in);
  m.view.dtype = spec.dtype;
  m.view.out = spec.out;
  m.view.in = spec.in;
  m.view.bits = spec.bits;
  m.view.group_size = spec.group_size;
  m.values.resize(count);
  if (spec.bits == 0) {
    m.data =
        ShiftedBytes(narrow(random_floats(count, spec.seed, spec.scale), spec.dtype), spec.shift);
    for (size_t i = 0; i < count; ++i) m.values[i] = element(m.data.data(), i, spec.dtype);
  } else {
    std::mt19937 engine(spec.seed);
    std::vector<uint32_t> q(count);
    for (uint32_t& value : q) value = engine() & ((1u << spec.bits) - 1);
    const auto group = static_cast<size_t>(spec.group_size);
    std::vector<float> scales = random_floats(count / group, spec.seed + 1, spec.scale);
    std::vector<float> biases = random_floats(count / group, spec.seed + 2, spec.scale);
    // As a quantiser leaves them: zero lies within the range of each group.
    for (size_t g = 0; g < scales.size(); ++g) {
      biases[g] -= scales[g] * static_cast<float>(1 << (spec.bits - 1));
    }
    m.data = ShiftedBytes(pack_bits(q, spec.bits), spec.shift);
    m.scales = ShiftedBytes(narrow(scales, spec.dtype), spec.shift);
    m.biases = ShiftedBytes(narrow(biases, spec.dtype), spec.shift);
    for (size_t i = 0; i < count; ++i) {
      m.values[i] = static_cast<double>(element(m.scales.data(), i / group, spec.dtype)) * q[i] +
                    element(m.biases.data(), i / group, spec.dtype);
    }
  }
  m.view.data = m.data.data();
  m.view.scales = m.scales.data();
  m.view.biases = m.biases.data();
  return m;
}

// The activations in double precision.
inline double reference_activation(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kQuickGelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return NAN;
}

}  // namespace mlxcel::kernels::test
