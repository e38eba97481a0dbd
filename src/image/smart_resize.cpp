// Every operation is the one that Python makes: division of integers gives the nearest double,
// which holds here because all integers stay below 2^53; `round` is half to even, as `nearbyint`
// is.
#include "image/smart_resize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace mlxcel::image {
namespace {

constexpr double kMaxRatio = 200;
constexpr int64_t kMaxFactor = 4096;
constexpr int64_t kExactInteger = int64_t{1} << 53;

void check_bounds(const ResizeBounds& bounds) {
  if (bounds.factor < 1 || bounds.factor > kMaxFactor) {
    throw base::bad_input("resize factor is {}, expected 1 to {}", bounds.factor, kMaxFactor);
  }
  if (bounds.min_pixels < 1 || bounds.max_pixels < bounds.min_pixels ||
      bounds.max_pixels > kMaxResizePixels) {
    throw base::bad_input("resize bounds are {} to {} pixels, expected 1 <= min <= max <= {}",
                          bounds.min_pixels, bounds.max_pixels, kMaxResizePixels);
  }
}

}  // namespace

Size smart_resize(int64_t height, int64_t width, const ResizeBounds& bounds) {
  check_bounds(bounds);
  if (height < 1 || width < 1 || height > kExactInteger / width) {
    throw base::bad_input("picture is {}x{}, expected sides of at least 1 and a sane area", width,
                          height);
  }
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  if (std::max(h, w) / std::min(h, w) > kMaxRatio) {
    throw base::bad_input(
        "picture is {}x{}, expected a long side of at most {} times the short one", width, height,
        kMaxRatio);
  }
  const auto factor = static_cast<double>(bounds.factor);
  double new_h = std::nearbyint(h / factor) * factor;
  double new_w = std::nearbyint(w / factor) * factor;
  if (new_h * new_w > static_cast<double>(bounds.max_pixels)) {
    const double beta = std::sqrt(h * w / static_cast<double>(bounds.max_pixels));
    new_h = std::max(factor, std::floor(h / beta / factor) * factor);
    new_w = std::max(factor, std::floor(w / beta / factor) * factor);
  } else if (new_h * new_w < static_cast<double>(bounds.min_pixels)) {
    const double beta = std::sqrt(static_cast<double>(bounds.min_pixels) / (h * w));
    new_h = std::ceil(h * beta / factor) * factor;
    new_w = std::ceil(w * beta / factor) * factor;
  }
  return {static_cast<int>(new_h), static_cast<int>(new_w)};
}

}  // namespace mlxcel::image
