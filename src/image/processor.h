// What a checkpoint's preprocessor_config.json says, applied: resize within its bounds, normalise,
// cut into patches.
//
//   const auto processor = ImageProcessor::load(checkpoint_folder);
//   const Patches patches = processor.process(load("cat.jpg"), &pool);
//   const int64_t tokens = processor.image_tokens(patches.grid);  // placeholders in the prompt
#pragma once

#include <filesystem>

#include "base/json.h"
#include "image/patchify.h"
#include "image/smart_resize.h"

namespace mlxcel::image {

struct ProcessorConfig {
  PatchOptions patches;
  int64_t min_pixels = 1;
  int64_t max_pixels = kMaxResizePixels;
};

// Reads patch_size, merge_size, temporal_patch_size, image_mean, image_std; the bounds from
// min_pixels and max_pixels or, where these are absent, size.shortest_edge and size.longest_edge
// (which are areas, whatever their names say); rescale_factor (1/255 when absent). Throws kBadInput
// for a missing or bad field, kUnsupported, naming it, for a step that is switched off (do_resize,
// do_rescale, do_normalize) or a filter (resample) other than bicubic. Fields that a still image
// does not need are ignored.
ProcessorConfig read_processor_config(const base::JsonField& json);

class ImageProcessor {
 public:
  // Throws kBadInput for values out of range. A family may change what it read before, for instance
  // the temporal patch size.
  explicit ImageProcessor(const ProcessorConfig& config);

  // From preprocessor_config.json in that folder. Throws kNotFound too.
  static ImageProcessor load(const std::filesystem::path& folder);

  // The grid of a still image of that size, in pixels. Throws kBadInput as smart_resize does.
  Grid grid_for(int64_t height, int64_t width) const;

  // Resizes (only if the size changes), normalises and cuts a still image.
  Patches process(const Image& image, base::ThreadPool* pool = nullptr) const;

  // Tokens that the merger makes of a grid: t * h * w / merge^2.
  int64_t image_tokens(const Grid& grid) const;

  const ProcessorConfig& config() const { return config_; }
  int patch_size() const { return config_.patches.patch; }
  int merge_size() const { return config_.patches.merge; }
  int temporal_patch_size() const { return config_.patches.temporal; }
  ResizeBounds bounds() const;
  // Floats in one row of patches: 3 * temporal * patch^2.
  int64_t row_width() const;

 private:
  ProcessorConfig config_;
};

}  // namespace mlxcel::image
