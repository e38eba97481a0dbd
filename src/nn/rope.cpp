#include "nn/rope.h"

#include <cmath>

namespace mlxcel::nn {
namespace {

// f32 result of an f32 power, correctly rounded: through double.
float power(float base, float exponent) {
  return static_cast<float>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

ops::RopeTables tables_of(const std::vector<float>& angles, int64_t rows, ops::RopeLayout layout) {
  std::vector<float> cos(angles.size());
  std::vector<float> sin(angles.size());
  for (size_t i = 0; i < angles.size(); ++i) {
    cos[i] = static_cast<float>(std::cos(static_cast<double>(angles[i])));
    sin[i] = static_cast<float>(std::sin(static_cast<double>(angles[i])));
  }
  const int width = rows == 0 ? 0 : static_cast<int>(angles.size() / static_cast<size_t>(rows));
  const mlx::core::Shape shape = {static_cast<int>(rows), width};
  namespace mx = mlx::core;
  return {mx::array(cos.data(), shape, mx::float32), mx::array(sin.data(), shape, mx::float32),
          layout};
}

}  // namespace

std::vector<float> decoder_frequencies(float base, int64_t dim) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(dim);
    frequencies.push_back(1.0F / power(base, exponent));
  }
  return frequencies;
}

ops::RopeTables decoder_rope(std::span<const float> frequencies,
                             std::span<const int32_t> positions) {
  std::vector<float> angles;
  angles.reserve(frequencies.size() * positions.size());
  for (const int32_t position : positions) {
    for (const float frequency : frequencies)
      angles.push_back(static_cast<float>(position) * frequency);
  }
  return tables_of(angles, static_cast<int64_t>(positions.size()), ops::RopeLayout::kSplitHalf);
}

AxisFrequencies axis_frequencies(float base, int64_t head_dim) {
  const int64_t unit = head_dim / 2 / 16;
  const auto axis = [&](int64_t size) {
    std::vector<float> frequencies;
    for (int64_t i = 0; i < size; ++i) {
      frequencies.push_back(power(base, -static_cast<float>(i) / static_cast<float>(size)));
    }
    return frequencies;
  };
  return {axis(4 * unit), axis(6 * unit), axis(6 * unit)};
}

ops::RopeTables axis_rope(const AxisFrequencies& frequencies,
                          std::span<const std::array<int32_t, 3>> positions) {
  std::vector<float> angles;
  const size_t half = frequencies.t.size() + frequencies.h.size() + frequencies.w.size();
  angles.reserve(2 * half * positions.size());
  for (const auto& [t, h, w] : positions) {
    for (int copy = 0; copy < 2; ++copy) {
      for (const float frequency : frequencies.t)
        angles.push_back(static_cast<float>(t) * frequency);
      for (const float frequency : frequencies.h)
        angles.push_back(static_cast<float>(h) * frequency);
      for (const float frequency : frequencies.w)
        angles.push_back(static_cast<float>(w) * frequency);
    }
  }
  return tables_of(angles, static_cast<int64_t>(positions.size()),
                   ops::RopeLayout::kInterleavedLanes);
}

}  // namespace mlxcel::nn
