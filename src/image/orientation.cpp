// EXIF 2.3 and TIFF 6.0, only as far as the one tag needs.
#include "image/orientation.h"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace mlxcel::image {
namespace {

constexpr std::string_view kExifPrefix("Exif\0\0", 6);
constexpr uint32_t kOrientationTag = 0x0112;

// Bounded reads of a TIFF block in its own byte order.
class Tiff {
 public:
  explicit Tiff(std::span<const uint8_t> data) : data_(data) {
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    big_endian_ = text.starts_with(std::string_view("MM\0*", 4));
    valid_ = big_endian_ || text.starts_with(std::string_view("II*\0", 4));
  }

  bool valid() const { return valid_; }

  // `bytes` (1..4) bytes at `offset` as a number, nothing when they are not there.
  std::optional<uint32_t> read(uint64_t offset, size_t bytes) const {
    if (offset > data_.size() || data_.size() - offset < bytes) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value = value << 8 | data_[offset + (big_endian_ ? i : bytes - 1 - i)];
    }
    return value;
  }

 private:
  std::span<const uint8_t> data_;
  bool big_endian_ = false;
  bool valid_ = false;
};

// Bytes of a single value that stands in the entry itself; 0 for the types that are no whole
// number.
size_t integer_size(uint32_t type) {
  constexpr std::array<uint8_t, 5> sizes = {0, 1, 0, 2, 4};  // BYTE, SHORT, LONG
  return type < sizes.size() ? sizes[type] : 0;
}

std::optional<int> exif_orientation(std::span<const uint8_t> exif) {
  const auto has_prefix = [&exif] {
    return std::string_view(reinterpret_cast<const char*>(exif.data()), exif.size())
        .starts_with(kExifPrefix);
  };
  while (has_prefix()) exif = exif.subspan(kExifPrefix.size());
  const Tiff tiff(exif);
  if (!tiff.valid()) return std::nullopt;
  const uint64_t directory = tiff.read(4, 4).value_or(0);
  const uint32_t entries = tiff.read(directory, 2).value_or(0);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + uint64_t{12} * i;
    const auto tag = tiff.read(entry, 2);
    if (!tag) return std::nullopt;
    if (*tag != kOrientationTag) continue;
    const size_t size = integer_size(tiff.read(entry + 2, 2).value_or(0));
    if (size == 0 || tiff.read(entry + 4, 4) != 1U) return 1;
    const uint32_t value = tiff.read(entry + 8, size).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return std::nullopt;
}

// Both ways XMP writes it: an attribute (tiff:Orientation="6") or an element.
std::optional<int> xmp_orientation(std::string_view xmp) {
  constexpr std::string_view key = "tiff:Orientation";
  for (size_t at = xmp.find(key); at != std::string_view::npos; at = xmp.find(key, at)) {
    at += key.size();
    std::string_view rest = xmp.substr(at);
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return rest[0] - '0';
  }
  return std::nullopt;
}

}  // namespace

int find_orientation(std::span<const uint8_t> exif, std::string_view xmp) {
  auto orientation = exif_orientation(exif);
  if (!orientation) orientation = xmp_orientation(xmp);
  return orientation && *orientation >= 1 && *orientation <= 8 ? *orientation : 1;
}

Image apply_orientation(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  // Where the pixel at (x, y) of the upright picture lies in the stored one: the axes are exchanged
  // for 5..8, then each may run backwards.
  const bool exchanged = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const ptrdiff_t stored_width = image.width;
  const ptrdiff_t stored_height = image.height;
  Image upright{exchanged ? image.height : image.width, exchanged ? image.width : image.height, {}};
  upright.pixels.resize(image.pixels.size());
  const ptrdiff_t along_x = from_right ? -3 : 3;
  const ptrdiff_t along_y = (from_bottom ? -3 : 3) * stored_width;
  const ptrdiff_t first = (from_right ? 3 * (stored_width - 1) : 0) +
                          (from_bottom ? 3 * stored_width * (stored_height - 1) : 0);
  const ptrdiff_t step = exchanged ? along_y : along_x;
  const ptrdiff_t row_step = exchanged ? along_x : along_y;
  uint8_t* out = upright.pixels.data();
  for (ptrdiff_t y = 0; y < upright.height; ++y) {
    ptrdiff_t at = first + y * row_step;
    for (ptrdiff_t x = 0; x < upright.width; ++x, at += step, out += 3) {
      for (ptrdiff_t c = 0; c < 3; ++c) out[c] = image.pixels[static_cast<size_t>(at + c)];
    }
  }
  return upright;
}

}  // namespace mlxcel::image
