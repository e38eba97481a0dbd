// Picks the decoder by the first bytes: names and declared types of pictures are often wrong.
#include "image/decode.h"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "image/decoders.h"

namespace mlxcel::image {
namespace {

struct Format {
  std::string_view magic;
  size_t second_at;  // where `second` must stand; unused when that is empty
  std::string_view second;
  Image (*decode)(const Source&);
};

constexpr std::array kFormats = {
    Format{"\xFF\xD8\xFF", 0, "", decode_jpeg}, Format{"\x89PNG\r\n\x1A\n", 0, "", decode_png},
    Format{"RIFF", 8, "WEBP", decode_webp},     Format{"GIF87a", 0, "", decode_gif},
    Format{"GIF89a", 0, "", decode_gif},        Format{"BM", 0, "", decode_bmp},
};

bool matches(std::string_view text, const Format& format) {
  if (!text.starts_with(format.magic)) return false;
  return format.second.empty() ||
         (text.size() >= format.second_at + format.second.size() &&
          text.substr(format.second_at, format.second.size()) == format.second);
}

}  // namespace

Image make_image(const Source& source, int64_t width, int64_t height, uint8_t fill) {
  if (width < 1 || height < 1) {
    throw base::bad_input("{}: the picture is {}x{}, expected sides of at least 1", source.name,
                          width, height);
  }
  if (width > source.max_pixels || height > source.max_pixels / width) {
    throw base::bad_input("{}: the picture is {}x{}, expected at most {} pixels", source.name,
                          width, height, source.max_pixels);
  }
  Image image{static_cast<int>(width), static_cast<int>(height), {}};
  image.pixels.assign(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, fill);
  return image;
}

Image decode(std::span<const std::byte> bytes, const std::string& name,
             const DecodeOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // A larger cap would let sides outgrow an int.
  const int64_t max_pixels = std::min<int64_t>(options.max_pixels, 1 << 30);
  for (const Format& format : kFormats) {
    if (!matches(text, format)) continue;
    try {
      return format.decode(Source{bytes, name, max_pixels});
    } catch (const std::bad_alloc&) {
      throw base::resource_error("{}: not enough memory to decode the picture", name);
    }
  }
  throw base::bad_input("{}: not a picture, expected JPEG, PNG, WebP, GIF or BMP data", name);
}

Image load(const std::filesystem::path& path, const DecodeOptions& options) {
  const std::string bytes = base::read_file(path, options.max_file_bytes);
  return decode(std::as_bytes(std::span(bytes)), path.string(), options);
}

}  // namespace mlxcel::image
