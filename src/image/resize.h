// Bicubic resizing, bit for bit as Pillow's `Image.resize(size, BICUBIC)` on RGB: with
// antialiasing, since another resize changes what a model reads. The order of the two passes is
// that of Pillow 13; earlier ones always began with rows, which differs where the height shrinks
// much more than the width.
#pragma once

#include "base/thread_pool.h"
#include "image/decode.h"

namespace mlxcel::image {

// Throws kBadInput when a side is below 1, or when the result or the step between the passes would
// exceed 2^30 pixels. The result does not depend on the pool,
// which may be null.
Image resize_bicubic(const Image& image, int width, int height, base::ThreadPool* pool = nullptr);

}  // namespace mlxcel::image
