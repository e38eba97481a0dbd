// The size a picture is resized to before it is cut into patches: sides divisible by a factor, area
// within bounds, aspect ratio kept as far as these allow. It decides the number of visual tokens,
// so it must agree with the reference (Qwen2-VL's processor in Python) in every rounding.
#pragma once

#include <cstdint>

namespace mlxcel::image {

// No bound may ask for more: a hostile config must not make us allocate what a picture may not.
inline constexpr int64_t kMaxResizePixels = 100'000'000;

struct ResizeBounds {
  int64_t factor = 32;  // patch size times merge size, 1..4096
  int64_t min_pixels = 1;
  int64_t max_pixels = kMaxResizePixels;
};

struct Size {
  int height = 0;
  int width = 0;
  bool operator==(const Size&) const = default;
};

// Throws kBadInput for sides below 1, an area above 2^53, a long side of more than 200 times the
// short one, or bounds outside 1 <= min <= max <= kMaxResizePixels.
Size smart_resize(int64_t height, int64_t width, const ResizeBounds& bounds);

}  // namespace mlxcel::image
