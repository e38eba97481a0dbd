// Pixels to the rows that a vision tower's patch embedding multiplies, in the order that its 2x2
// merger expects: the rows of one merge window follow one another.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "image/decode.h"

namespace mlxcel::image {

// Extent in patches; `t` counts temporal patches.
struct Grid {
  int32_t t = 0;
  int32_t h = 0;
  int32_t w = 0;
  bool operator==(const Grid&) const = default;
  int64_t patches() const { return int64_t{t} * h * w; }
};

struct PatchOptions {
  int patch = 16;    // side of a patch in pixels, 1..64
  int merge = 2;     // side of a merge window in patches, 1..8
  int temporal = 1;  // frames in a patch, 1..8
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> std = {1, 1, 1};
  float rescale = 1.0F / 255;
};

struct Patches {
  // [t * h * w, 3 * temporal * patch * patch]: rows by t, window row, window column, row and column
  // inside the window; within a row channel, frame, y, x.
  std::vector<float> rows;
  Grid grid;
};

// (pixel * rescale - mean) / std, each step rounded to f32. Frames are those of one video, or one
// still; the last is repeated where their number is no multiple of `temporal`. Throws kBadInput
// when there is no frame, when sizes differ or are no multiple of patch * merge, or when an option
// is out of its range.
Patches patchify(std::span<const Image> frames, const PatchOptions& options,
                 base::ThreadPool* pool = nullptr);

// (t, h, w) of each patch, in the order of the rows. Throws kBadInput when h or w is no multiple of
// `merge`.
std::vector<std::array<int32_t, 3>> positions_from_grid(const Grid& grid, int merge);

}  // namespace mlxcel::image
