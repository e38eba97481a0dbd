// What the format decoders share and only `decode` calls: their input, the size check that each of
// them makes before it allocates, and the rule for transparency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "image/decode.h"

namespace mlxcel::image {

struct Source {
  std::span<const std::byte> bytes;
  std::string name;
  int64_t max_pixels;

  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(bytes.data()); }
  size_t size() const { return bytes.size(); }
};

// Each throws kBadInput, naming the source, for data that it cannot decode completely.
Image decode_bmp(const Source& source);
Image decode_gif(const Source& source);
Image decode_jpeg(const Source& source);
Image decode_png(const Source& source);
Image decode_webp(const Source& source);

// An image of that size with all bytes `fill`. Throws kBadInput when a side is below 1 or the area
// above the cap.
Image make_image(const Source& source, int64_t width, int64_t height, uint8_t fill = 0);

// One channel value over white: value * alpha + 255 * (255 - alpha), divided by 255 and rounded to
// the nearest. Equal to Pillow's `alpha_composite` onto opaque white, and to its `paste` with a
// mask.
inline uint8_t over_white(uint32_t value, uint32_t alpha) {
  const uint32_t sum = value * alpha + 255 * (255 - alpha) + 128;
  return static_cast<uint8_t>((sum + (sum >> 8)) >> 8);
}

// One RGBA pixel into three bytes of an image.
inline void put_over_white(const uint8_t* rgba, uint8_t* rgb) {
  for (int c = 0; c < 3; ++c) rgb[c] = over_white(rgba[c], rgba[3]);
}

}  // namespace mlxcel::image
