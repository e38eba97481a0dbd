// How a kernel sees a weight matrix: where it lies in the mapped checkpoint and how it is encoded.
// Nothing is copied or repacked; the view is valid while the mapping lives.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace mlxcel::kernels {

// A matrix W of [out, in], row-major.
//
// Dense (bits == 0): `data` holds out * in elements of `dtype` (F32, F16 or BF16).
//
// MLX affine quantisation (bits in {2, 3, 4, 5, 6, 8}): each row is `in` unsigned integers of
// `bits` bits, packed little-endian without gaps into 32-bit words (in * bits / 32 words a row;
// `in` is a multiple of `group_size`, which is 32, 64 or 128, so a row always fills whole words).
// Element i of a row starts at bit i * bits of the row's little-endian bit stream. Each group of
// `group_size` elements has a scale and a bias, [out, in / group_size], of `dtype`: W = scale * q +
// bias. Source: MLX, mlx.core.quantize (mode "affine").
struct WeightView {
  const void* data = nullptr;
  base::DType dtype = base::DType::kF32;
  int64_t out = 0;
  int64_t in = 0;
  int bits = 0;
  int group_size = 0;
  const void* scales = nullptr;
  const void* biases = nullptr;

  bool quantized() const { return bits != 0; }
};

}  // namespace mlxcel::kernels
