// A sample has 256 values and three channels, so normalising is a table: exact by construction.
#include "image/patchify.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.h"

namespace mlxcel::image {
namespace {

constexpr int kMaxPatch = 64;
constexpr int kMaxMerge = 8;
constexpr int kMaxTemporal = 8;
constexpr size_t kChannels = 3;

using Table = std::array<std::array<float, 256>, kChannels>;

Table make_table(const PatchOptions& options) {
  Table table;
  for (size_t c = 0; c < kChannels; ++c) {
    for (int value = 0; value < 256; ++value) {
      const float scaled = static_cast<float>(value) * options.rescale;
      const float centred = scaled - options.mean[c];
      table[c][static_cast<size_t>(value)] = centred / options.std[c];
    }
  }
  return table;
}

void check_options(const PatchOptions& options) {
  const auto check = [](const char* what, int value, int most) {
    if (value < 1 || value > most) {
      throw base::bad_input("{} is {}, expected 1 to {}", what, value, most);
    }
  };
  check("patch size", options.patch, kMaxPatch);
  check("merge size", options.merge, kMaxMerge);
  check("temporal patch size", options.temporal, kMaxTemporal);
  for (size_t c = 0; c < kChannels; ++c) {
    if (!std::isfinite(options.mean[c]) || !(options.std[c] > 0)) {
      throw base::bad_input("image mean {} and std {}, expected finite numbers and std above 0",
                            options.mean[c], options.std[c]);
    }
  }
}

void check_frames(std::span<const Image> frames, int side) {
  if (frames.empty()) throw base::bad_input("no frame to cut into patches, expected at least one");
  const Image& first = frames.front();
  for (const Image& frame : frames) {
    if (frame.width != first.width || frame.height != first.height) {
      throw base::bad_input("a frame is {}x{}, expected {}x{} as the first one", frame.width,
                            frame.height, first.width, first.height);
    }
    const auto bytes = static_cast<int64_t>(frame.pixels.size());
    if (bytes != int64_t{frame.width} * frame.height * static_cast<int64_t>(kChannels)) {
      throw base::internal_error("an image of {}x{} with {} bytes", frame.width, frame.height,
                                 bytes);
    }
  }
  if (first.width < side || first.height < side || first.width % side != 0 ||
      first.height % side != 0) {
    throw base::bad_input("picture is {}x{}, expected sides that are multiples of {}", first.width,
                          first.height, side);
  }
}

// One patch of up to `temporal` frames into its row: channel, frame, y, x.
void fill_row(std::span<const Image* const> frames, size_t top, size_t left, size_t patch,
              const Table& table, float* out) {
  for (size_t c = 0; c < kChannels; ++c) {
    for (const Image* frame : frames) {
      const auto width = static_cast<size_t>(frame->width);
      for (size_t y = 0; y < patch; ++y) {
        const uint8_t* in = frame->pixels.data() + ((top + y) * width + left) * kChannels + c;
        for (size_t x = 0; x < patch; ++x) *out++ = table[c][in[x * kChannels]];
      }
    }
  }
}

}  // namespace

Patches patchify(std::span<const Image> frames, const PatchOptions& options,
                 base::ThreadPool* pool) {
  check_options(options);
  check_frames(frames, options.patch * options.merge);
  const auto patch = static_cast<size_t>(options.patch);
  const auto temporal = static_cast<size_t>(options.temporal);
  const auto merge = static_cast<size_t>(options.merge);
  const size_t steps = (frames.size() + temporal - 1) / temporal;
  if (steps > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw base::bad_input("{} frames, expected fewer", frames.size());
  }
  Patches result;
  result.grid = {static_cast<int32_t>(steps), frames.front().height / options.patch,
                 frames.front().width / options.patch};
  const size_t row_floats = kChannels * temporal * patch * patch;
  result.rows.resize(static_cast<size_t>(result.grid.patches()) * row_floats);

  const Table table = make_table(options);
  const auto grid_w = static_cast<size_t>(result.grid.w);
  const size_t window_rows = static_cast<size_t>(result.grid.h) / merge;
  // A task is one row of merge windows: merge * grid_w consecutive patches.
  const auto fill_window_row = [&](size_t task) {
    const size_t step = task / window_rows;
    const size_t window_row = task % window_rows;
    std::array<const Image*, kMaxTemporal> members{};
    for (size_t f = 0; f < temporal; ++f) {
      members[f] = &frames[std::min(step * temporal + f, frames.size() - 1)];
    }
    float* out = result.rows.data() + task * merge * grid_w * row_floats;
    for (size_t window = 0; window < grid_w / merge; ++window) {
      for (size_t inner = 0; inner < merge * merge; ++inner, out += row_floats) {
        const size_t top = (window_row * merge + inner / merge) * patch;
        const size_t left = (window * merge + inner % merge) * patch;
        fill_row({members.data(), temporal}, top, left, patch, table, out);
      }
    }
  };
  const size_t tasks = steps * window_rows;
  if (pool != nullptr) {
    pool->run(tasks, fill_window_row);
  } else {
    for (size_t task = 0; task < tasks; ++task) fill_window_row(task);
  }
  return result;
}

std::vector<std::array<int32_t, 3>> positions_from_grid(const Grid& grid, int merge) {
  if (merge < 1 || merge > kMaxMerge || grid.t < 0 || grid.h < 0 || grid.w < 0 ||
      grid.h % merge != 0 || grid.w % merge != 0) {
    throw base::bad_input("grid {}x{}x{}, expected height and width that are multiples of {}",
                          grid.t, grid.h, grid.w, merge);
  }
  std::vector<std::array<int32_t, 3>> positions;
  positions.reserve(static_cast<size_t>(grid.patches()));
  for (int32_t t = 0; t < grid.t; ++t) {
    for (int32_t row = 0; row < grid.h; row += merge) {
      for (int32_t column = 0; column < grid.w; column += merge) {
        for (int32_t inner = 0; inner < merge * merge; ++inner) {
          positions.push_back({t, row + inner / merge, column + inner % merge});
        }
      }
    }
  }
  return positions;
}

}  // namespace mlxcel::image
