// Rotary angles as tables, computed on the host in the order of operations of the references (f32
// frequencies, f32 products), so that long contexts stay equal to the token.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/ops.h"

namespace mlxcel::nn {

// base^(-2i/dim) for i < dim/2: the usual frequencies of a decoder.
std::vector<float> decoder_frequencies(float base, int64_t dim);

// Tables [positions, dim/2] for pairs (i, i + dim/2).
ops::RopeTables decoder_rope(std::span<const float> frequencies,
                             std::span<const int32_t> positions);

// Mage-ViT's three axes: half = head_dim/2 lanes split 4:6:6 over (t, h, w).
struct AxisFrequencies {
  std::vector<float> t, h, w;
};
// base^(-i/size) for i < size on each axis (the exponent is i/size, not 2i/size). head_dim is a
// multiple of 32.
AxisFrequencies axis_frequencies(float base, int64_t head_dim);

// Tables [positions, head_dim] for adjacent lanes: concat(f, f) with f = (t inv_t, h inv_h, w
// inv_w), so lanes 2i and 2i + 1 turn by different angles.
ops::RopeTables axis_rope(const AxisFrequencies& frequencies,
                          std::span<const std::array<int32_t, 3>> positions);

}  // namespace mlxcel::nn
