// BMP, read here and not by a library: the format is a table of plain rows, and the small readers
// at hand take a truncated file for a black picture.
//
// Headers from OS/2 1.x to version 5; 1, 4 and 8 bits with palette, also run-length encoded; 16, 24
// and 32 bits, also with bit fields. As in Pillow the fourth byte of a plain 32-bit pixel is
// unused, with bit fields it is alpha when they say so.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "image/decoders.h"

namespace mlxcel::image {
namespace {

constexpr size_t kFileHeader = 14;
constexpr uint32_t kOs2Header = 12;
constexpr std::array<uint32_t, 6> kHeaderSizes = {40, 52, 56, 64, 108, 124};
enum Compression : uint32_t { kPlain = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3 };

// The contiguous bits of a pixel that hold one channel.
struct Field {
  uint32_t mask = 0;

  bool contiguous() const {
    const uint32_t low = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    return (low & (low + 1)) == 0;
  }
  // Scaled to 0..255, rounded down as Pillow does.
  uint8_t value(uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const uint64_t top = mask >> shift;
    return static_cast<uint8_t>(((pixel & mask) >> shift) * uint64_t{255} / top);
  }
};

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {}

  Image read() {
    read_header();
    Image image = make_image(source_, width_, height_);
    if (compression_ == kRle8 || compression_ == kRle4) {
      const std::vector<uint8_t> indices = unpack_runs();
      for (size_t y = 0; y < static_cast<size_t>(height_); ++y) {
        const uint8_t* row = indices.data() + y * static_cast<size_t>(width_);
        uint8_t* rgb = row_of(image, y);
        for (size_t x = 0; x < static_cast<size_t>(width_); ++x) put_index(row[x], rgb + 3 * x);
      }
    } else {
      read_plain_rows(image);
    }
    return image;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw base::bad_input("{}: BMP: {}", source_.name,
                          fmt::format(format, std::forward<Args>(args)...));
  }

  // Little-endian number of `bytes` (1..4) bytes.
  uint32_t number(size_t offset, size_t bytes) const {
    if (offset > source_.size() || source_.size() - offset < bytes) {
      fail("the data ends before the picture does");
    }
    uint32_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | source_.data()[offset + i];
    return value;
  }

  void read_header() {
    const uint32_t header = number(kFileHeader, 4);
    offset_ = number(10, 4);
    uint32_t colours = 0;
    size_t entry = 4;  // bytes of a palette entry
    if (header == kOs2Header) {
      width_ = number(18, 2);
      height_ = number(20, 2);
      bits_ = number(24, 2);
      entry = 3;
    } else if (std::find(kHeaderSizes.begin(), kHeaderSizes.end(), header) != kHeaderSizes.end()) {
      width_ = static_cast<int32_t>(number(18, 4));
      height_ = static_cast<int32_t>(number(22, 4));
      bits_ = number(28, 2);
      compression_ = number(30, 4);
      colours = number(46, 4);
    } else {
      fail("a header of {} bytes, expected 12, 40, 52, 56, 64, 108 or 124", header);
    }
    if (height_ < 0) {
      top_down_ = true;
      height_ = -height_;
    }
    check_kind();
    size_t end = kFileHeader + header;
    if (compression_ == kBitFields) {
      read_fields(header);
      if (header == 40) end += 12;
    } else if (bits_ == 16) {
      fields_ = {Field{0x7C00}, Field{0x03E0}, Field{0x001F}, Field{}};
    } else {
      fields_ = {Field{0xFF0000}, Field{0x00FF00}, Field{0x0000FF}, Field{}};
    }
    if (bits_ <= 8) end = read_palette(end, entry, colours);
    // Some writers leave the place of the pixels out, or give that of the palette.
    if (offset_ == 0 || (bits_ <= 8 && offset_ == kFileHeader + header)) offset_ = end;
  }

  void check_kind() const {
    const bool known_depth =
        bits_ == 1 || bits_ == 4 || bits_ == 8 || bits_ == 16 || bits_ == 24 || bits_ == 32;
    if (!known_depth) fail("{} bits per pixel, expected 1, 4, 8, 16, 24 or 32", bits_);
    const bool fits = compression_ == kPlain || (compression_ == kRle8 && bits_ == 8) ||
                      (compression_ == kRle4 && bits_ == 4) ||
                      (compression_ == kBitFields && bits_ >= 16);
    if (!fits) fail("compression {} with {} bits per pixel is unsupported", compression_, bits_);
  }

  void read_fields(uint32_t header) {
    const bool with_alpha = header >= 56 && header != 64;
    for (size_t i = 0; i < (with_alpha ? 4U : 3U); ++i) {
      fields_[i].mask = number(kFileHeader + 40 + 4 * i, 4);
      if (!fields_[i].contiguous()) fail("bit field {:#x} has gaps", fields_[i].mask);
    }
    const bool all_zero =
        (fields_[0].mask | fields_[1].mask | fields_[2].mask | fields_[3].mask) == 0;
    if (all_zero && bits_ == 32) {
      fields_ = {Field{0xFF0000}, Field{0x00FF00}, Field{0x0000FF}, Field{0xFF000000}};
    } else if (fields_[0].mask == 0 || fields_[1].mask == 0 || fields_[2].mask == 0) {
      fail("a bit field is empty");
    }
  }

  // Returns the offset of its end.
  size_t read_palette(size_t at, size_t entry, uint32_t colours) {
    const size_t most = size_t{1} << bits_;
    const size_t count = colours == 0 ? most : colours;
    if (count > 65536) fail("a palette of {} colours, expected at most {}", count, most);
    palette_.resize(std::min(count, most));
    for (size_t i = 0; i < palette_.size(); ++i) {
      for (size_t c = 0; c < 3; ++c) {
        palette_[i][c] = static_cast<uint8_t>(number(at + i * entry + 2 - c, 1));
      }
    }
    return at + count * entry;
  }

  // `y` counts stored rows; they usually start at the bottom.
  uint8_t* row_of(Image& image, size_t y) const {
    const size_t row = top_down_ ? y : static_cast<size_t>(height_) - 1 - y;
    return image.pixels.data() + row * static_cast<size_t>(width_) * 3;
  }

  void put_index(uint32_t index, uint8_t* rgb) const {
    if (index >= palette_.size())
      fail("colour {} lies outside the palette of {}", index, palette_.size());
    std::memcpy(rgb, palette_[index].data(), 3);
  }

  void read_plain_rows(Image& image) const {
    const auto width = static_cast<size_t>(width_);
    const size_t stride = (width * bits_ + 31) / 32 * 4;
    const size_t used = (width * bits_ + 7) / 8;  // the last row may come without its padding
    const size_t needed = stride * static_cast<size_t>(height_ - 1) + used;
    if (offset_ > source_.size() || source_.size() - offset_ < needed) {
      fail("the data ends before the picture does");
    }
    for (size_t y = 0; y < static_cast<size_t>(height_); ++y) {
      const uint8_t* row = source_.data() + offset_ + y * stride;
      uint8_t* rgb = row_of(image, y);
      for (size_t x = 0; x < width; ++x) put_pixel(row, x, rgb + 3 * x);
    }
  }

  void put_pixel(const uint8_t* row, size_t x, uint8_t* rgb) const {
    if (bits_ <= 8) {
      const size_t bit = x * bits_;
      const uint32_t shift = 8 - bits_ - static_cast<uint32_t>(bit % 8);
      put_index(row[bit / 8] >> shift & ((1U << bits_) - 1), rgb);
      return;
    }
    const size_t bytes = bits_ / 8;
    uint32_t pixel = 0;
    for (size_t i = bytes; i-- > 0;) pixel = pixel << 8 | row[x * bytes + i];
    const uint8_t alpha = fields_[3].mask == 0 ? uint8_t{255} : fields_[3].value(pixel);
    const std::array<uint8_t, 4> rgba = {fields_[0].value(pixel), fields_[1].value(pixel),
                                         fields_[2].value(pixel), alpha};
    put_over_white(rgba.data(), rgb);
  }

  // Colour indices of the whole picture, stored rows in their order. Pixels that the data jumps
  // over have colour 0; data that stops before the last pixel is an error.
  std::vector<uint8_t> unpack_runs() const {
    const auto width = static_cast<size_t>(width_);
    const size_t total = width * static_cast<size_t>(height_);
    std::vector<uint8_t> out(total, 0);
    size_t at = offset_;
    size_t next = 0;  // index of the next pixel
    size_t x = 0;     // its column, which may stand behind the last one of the row
    const auto put = [&](uint8_t index) {
      if (next < total) out[next++] = index;
    };
    while (next < total) {
      const uint32_t count = number(at, 1);
      const uint32_t value = number(at + 1, 1);
      at += 2;
      if (count > 0) {  // a run, cut at the end of the row
        const size_t length = std::min<size_t>(count, width - std::min(x, width));
        for (size_t i = 0; i < length; ++i) put(nibble_or_byte(value, i));
        x += length;
      } else if (value == 0) {  // end of row
        next = (next + width - 1) / width * width;
        x = 0;
      } else if (value == 1) {  // end of picture
        fail("the data ends before the picture does");
      } else if (value == 2) {  // jump
        next += number(at, 1) + number(at + 1, 1) * width;
        at += 2;
        x = next % width;
      } else {  // `value` pixels as they are, padded to two bytes
        for (size_t i = 0; i < value && next < total; ++i) {
          const size_t byte = compression_ == kRle4 ? i / 2 : i;
          put(nibble_or_byte(number(at + byte, 1), i));
        }
        const size_t bytes = compression_ == kRle4 ? (value + 1) / 2 : value;
        at += (bytes + 1) / 2 * 2;
        x += value;
      }
    }
    return out;
  }

  // RLE4 packs two pixels in a byte, the first one high.
  uint8_t nibble_or_byte(uint32_t byte, size_t pixel) const {
    if (compression_ == kRle8) return static_cast<uint8_t>(byte);
    return static_cast<uint8_t>(pixel % 2 == 0 ? byte >> 4 : byte & 15);
  }

  const Source& source_;
  int64_t width_ = 0;
  int64_t height_ = 0;
  uint32_t bits_ = 0;
  uint32_t compression_ = kPlain;
  bool top_down_ = false;
  size_t offset_ = 0;
  std::array<Field, 4> fields_{};  // red, green, blue, alpha
  std::vector<std::array<uint8_t, 3>> palette_;
};

}  // namespace

Image decode_bmp(const Source& source) { return Reader(source).read(); }

}  // namespace mlxcel::image
