// A processor that ignores a field of this file answers with other tokens than the checkpoint was
// trained for; so each field is either obeyed, or known to be irrelevant, or refused by name.
#include "image/processor.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "image/resize.h"

namespace mlxcel::image {
namespace {

constexpr int64_t kBicubic = 3;
constexpr int64_t kMaxPatch = 64;
constexpr int64_t kMaxMerge = 8;
constexpr int64_t kMaxTemporal = 8;
constexpr double kMaxMagnitude = 1e6;

float bounded_number(const base::JsonField& field, double min, double max) {
  const double number = field.as_number();
  if (number < min || number > max) {
    throw base::bad_input("{} is {}, expected {} to {}", field.where(), number, min, max);
  }
  return static_cast<float>(number);
}

std::array<float, 3> three_numbers(const base::JsonField& field, double min) {
  const auto list = field.as_list();
  if (list.size() != 3) {
    throw base::bad_input("{} has {} numbers, expected 3", field.where(), list.size());
  }
  std::array<float, 3> numbers{};
  for (size_t i = 0; i < 3; ++i) numbers[i] = bounded_number(list[i], min, kMaxMagnitude);
  return numbers;
}

int64_t read_bound(const base::JsonField& json, const char* key, const char* size_key) {
  auto field = json.find(key);
  if (!field) {
    const auto size = json.find("size");
    if (size) field = size->find(size_key);
  }
  if (!field) {
    throw base::bad_input("{}: field '{}' or 'size.{}' is missing", json.where(), key, size_key);
  }
  return field->as_int(1, kMaxResizePixels);
}

void refuse_other_steps(const base::JsonField& json) {
  for (const char* key : {"do_resize", "do_rescale", "do_normalize"}) {
    const auto field = json.find(key);
    if (field && !field->as_bool()) {
      throw base::unsupported("{} is false, expected true", field->where());
    }
  }
  if (const auto field = json.find("do_convert_rgb")) field->as_bool();
  const auto resample = json.find("resample");
  if (resample && resample->as_int() != kBicubic) {
    throw base::unsupported("{} is {}, expected {} (bicubic)", resample->where(),
                            resample->as_int(), kBicubic);
  }
}

}  // namespace

ProcessorConfig read_processor_config(const base::JsonField& json) {
  refuse_other_steps(json);
  ProcessorConfig config;
  config.patches.patch = static_cast<int>(json.int_at("patch_size", 1, kMaxPatch));
  config.patches.merge = static_cast<int>(json.int_at("merge_size", 1, kMaxMerge));
  config.patches.temporal = static_cast<int>(json.int_at("temporal_patch_size", 1, kMaxTemporal));
  config.patches.mean = three_numbers(json.at("image_mean"), -kMaxMagnitude);
  config.patches.std = three_numbers(json.at("image_std"), 1 / kMaxMagnitude);
  if (const auto rescale = json.find("rescale_factor")) {
    config.patches.rescale = bounded_number(*rescale, 1 / kMaxMagnitude, kMaxMagnitude);
  }
  config.min_pixels = read_bound(json, "min_pixels", "shortest_edge");
  config.max_pixels = read_bound(json, "max_pixels", "longest_edge");
  if (config.min_pixels > config.max_pixels) {
    throw base::bad_input("{}: min_pixels is {}, expected at most max_pixels, {}", json.where(),
                          config.min_pixels, config.max_pixels);
  }
  return config;
}

ImageProcessor::ImageProcessor(const ProcessorConfig& config) : config_(config) {
  const PatchOptions& patches = config.patches;
  const bool in_range = patches.patch >= 1 && patches.patch <= kMaxPatch && patches.merge >= 1 &&
                        patches.merge <= kMaxMerge && patches.temporal >= 1 &&
                        patches.temporal <= kMaxTemporal;
  if (!in_range) {
    throw base::bad_input(
        "patch size {}, merge size {}, temporal patch size {}, expected 1 to {}, {} and {}",
        patches.patch, patches.merge, patches.temporal, kMaxPatch, kMaxMerge, kMaxTemporal);
  }
  smart_resize(1, 1, bounds());  // checks the bounds
}

ImageProcessor ImageProcessor::load(const std::filesystem::path& folder) {
  const auto path = folder / "preprocessor_config.json";
  const base::Json json = base::load_json(path);
  return ImageProcessor(read_processor_config(base::JsonField(json, path.string())));
}

ResizeBounds ImageProcessor::bounds() const {
  return {int64_t{config_.patches.patch} * config_.patches.merge, config_.min_pixels,
          config_.max_pixels};
}

int64_t ImageProcessor::row_width() const {
  return int64_t{3} * config_.patches.temporal * config_.patches.patch * config_.patches.patch;
}

Grid ImageProcessor::grid_for(int64_t height, int64_t width) const {
  const Size size = smart_resize(height, width, bounds());
  return {1, size.height / patch_size(), size.width / patch_size()};
}

Patches ImageProcessor::process(const Image& image, base::ThreadPool* pool) const {
  const Size size = smart_resize(image.height, image.width, bounds());
  if (size == Size{image.height, image.width}) return patchify({&image, 1}, config_.patches, pool);
  const Image resized = resize_bicubic(image, size.width, size.height, pool);
  return patchify({&resized, 1}, config_.patches, pool);
}

int64_t ImageProcessor::image_tokens(const Grid& grid) const {
  return grid.patches() / (int64_t{merge_size()} * merge_size());
}

}  // namespace mlxcel::image
