// Pictures as a user has them (JPEG, PNG, WebP, GIF, BMP) turned into the one form that the models'
// preprocessing is defined on: upright 8-bit RGB without transparency.
//
// The result equals Pillow's for `ImageOps.exif_transpose`, then a white background under the alpha
// channel, then `convert("RGB")`; 16-bit samples keep their high byte. Of an animation the first
// frame is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mlxcel::image {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 3], RGB
};

struct DecodeOptions {
  // Pictures whose header announces more are refused before anything is allocated for them. 100
  // megapixels hold the largest cameras' pictures and need 300 MB.
  int64_t max_pixels = 100'000'000;
  // `load` refuses larger files.
  size_t max_file_bytes = size_t{256} << 20;
};

// Decodes by content, whatever the name says. `name` (a file, or "image 2") opens the message of
// every error. Throws kBadInput for data that is no picture, truncated, corrupt or over the cap,
// kResource when memory runs out.
Image decode(std::span<const std::byte> bytes, const std::string& name,
             const DecodeOptions& options = {});

// Reads and decodes a file. Throws kNotFound when it is absent, else as `decode`.
Image load(const std::filesystem::path& path, const DecodeOptions& options = {});

}  // namespace mlxcel::image
