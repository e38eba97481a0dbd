// Cameras store the sensor's view and say in metadata how to turn it. A model must see the picture
// as people do.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "image/decode.h"

namespace mlxcel::image {

// Orientation 1..8 from EXIF data (a TIFF block, with or without the "Exif\0\0" before it) or, when
// that has no such tag, from XMP text. 1 (upright) when neither says, or what they say makes no
// sense: bad metadata does not make a picture unreadable.
int find_orientation(std::span<const uint8_t> exif, std::string_view xmp);

// The picture turned upright. Orientations outside 2..8 leave it as it is.
Image apply_orientation(Image image, int orientation);

}  // namespace mlxcel::image
