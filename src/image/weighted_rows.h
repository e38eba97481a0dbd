// The inner loop of resizing, compiled for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlxcel::image {

// Fraction bits of the weights: 8 bits of the sample and 2 for overshoot leave 22 of 32.
inline constexpr int kWeightBits = 32 - 8 - 2;

struct WeightedRows {
  const uint8_t* first;  // rows of bytes, `stride` bytes apart
  size_t stride;
  const int32_t* weights;  // [count]; those of one sum add up to about 1 << kWeightBits
  int count;
};

// out[i] = sum over k of weights[k] * row k [i], rounded half up to 8 bits and clamped, for i < n.
void add_weighted_rows(const WeightedRows& rows, uint8_t* out, size_t n);

}  // namespace mlxcel::image
