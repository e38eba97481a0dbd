// PNG through libpng: its checks (checksums, lengths) are taken as they are, its memory is bounded
// by the size check and by its own limits for text chunks. Gamma and colour profiles are ignored,
// as everywhere in models' preprocessing.
//
// libpng reports errors by a callback that must not return. Here it jumps back into the one
// function that made the call, each of which holds no C++ object that would need a destructor.
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "image/decoders.h"
#include "image/orientation.h"

namespace mlxcel::image {
namespace {

// A compressed text chunk of a few kilobytes may unpack to the first of these; the second bounds
// how many are kept.
constexpr png_alloc_size_t kMaxChunkBytes = 8 << 20;
constexpr png_uint_32 kMaxTextChunks = 32;
constexpr std::string_view kRawExifKey = "Raw profile type exif";
constexpr std::string_view kXmpKey = "XML:com.adobe.xmp";

// The text that ImageMagick writes for EXIF data: a line of its kind, a line with its length, lines
// of hexadecimal digits. Ends at the first thing that is none.
std::vector<uint8_t> parse_raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::vector<uint8_t> bytes;
  int high = -1;
  for (const char c : text) {
    if (c == '\n') continue;
    const size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) break;
    if (high < 0) {
      high = static_cast<int>(digit);
    } else {
      bytes.push_back(static_cast<uint8_t>(high * 16 + static_cast<int>(digit)));
      high = -1;
    }
  }
  return bytes;
}

// Whether the chunks lie within the data, up to the one that ends the picture. The library believes
// the length that a chunk announces and allocates it before it reads.
bool chunks_are_complete(std::span<const std::byte> data) {
  constexpr size_t overhead = 12;  // length, name, checksum
  size_t at = 8;                   // behind the signature
  while (at <= data.size() && data.size() - at >= overhead) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<size_t>(data[at + i]);
    if (length > data.size() - at - overhead) return false;
    if (std::memcmp(data.data() + at + 4, "IEND", 4) == 0) return true;
    at += overhead + length;
  }
  return false;
}

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {}
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Image read() {
    if (!chunks_are_complete(source_.bytes)) {
      throw base::bad_input("{}: PNG: the data ends before the picture does", source_.name);
    }
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw base::resource_error("{}: PNG: out of memory", source_.name);
    check(read_header());
    Image image =
        make_image(source_, png_get_image_width(png_, info_), png_get_image_height(png_, info_));
    check(set_transforms());
    const int channels = png_get_channels(png_, info_);
    const size_t row_bytes = static_cast<size_t>(image.width) * static_cast<size_t>(channels);
    if (row_bytes != png_get_rowbytes(png_, info_)) {
      throw base::internal_error("{}: PNG: unexpected row size", source_.name);
    }
    std::vector<uint8_t> rows;
    Layout layout{channels, row_bytes, image.pixels.data(), image.pixels.data(), row_bytes};
    if (channels != 3) {
      // The passes of an interlaced picture come back to each row, so that all must be kept.
      rows.resize(passes_ > 1 ? row_bytes * static_cast<size_t>(image.height) : row_bytes);
      layout.rows = rows.data();
      layout.stride = passes_ > 1 ? row_bytes : 0;
    }
    check(read_rows(layout));
    check(read_end());
    const int orientation = metadata_orientation();
    return apply_orientation(std::move(image), orientation);
  }

 private:
  struct Layout {
    int channels;      // 1 (palette index), 3 (RGB) or 4 (RGBA)
    size_t row_bytes;  // of a decoded row
    uint8_t* pixels;   // the image
    uint8_t* rows;     // where decoded rows go; the image itself for RGB
    size_t stride;     // from one to the next; 0 where one row serves all
  };

  static void on_error(png_structp png, png_const_charp message) {
    auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
    std::snprintf(reader->message_.data(), reader->message_.size(), "%s", message);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}

  static void on_read(png_structp png, png_bytep out, size_t count) {
    auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
    if (count > reader->source_.size() - reader->position_) {
      png_error(png, "the data ends before the picture does");
    }
    std::memcpy(out, reader->source_.data() + reader->position_, count);
    reader->position_ += count;
  }

  void check(bool ok) const {
    if (!ok) throw base::bad_input("{}: PNG: {}", source_.name, message_.data());
  }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, on_read);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // make_image has our own
    png_set_chunk_malloc_max(png_, kMaxChunkBytes);
    png_set_chunk_cache_max(png_, kMaxTextChunks);
    static constexpr png_byte ignored[] =
        "iCCP\0sPLT\0hIST\0sCAL\0pCAL\0oFFs\0bKGD\0gAMA\0cHRM\0sRGB\0tIME";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, ignored, sizeof(ignored) / 5);
    png_read_info(png_, info_);
    return true;
  }

  bool set_transforms() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const png_byte colour = png_get_color_type(png_, info_);
    if (colour == PNG_COLOR_TYPE_PALETTE) {
      png_set_packing(png_);
      if (!read_palette()) png_error(png_, "the palette is missing");
    } else {
      // The library compares a transparent colour at full depth, then drops the low bytes.
      if (png_get_bit_depth(png_, info_) == 16) png_set_strip_16(png_);
      if (png_get_valid(png_, info_, PNG_INFO_tRNS) != 0) png_set_tRNS_to_alpha(png_);
      if ((colour & PNG_COLOR_MASK_COLOR) == 0) {
        png_set_expand_gray_1_2_4_to_8(png_);
        png_set_gray_to_rgb(png_);
      }
    }
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool read_palette() {
    png_colorp colours = nullptr;
    png_bytep alpha = nullptr;
    int alpha_count = 0;
    if (png_get_PLTE(png_, info_, &colours, &palette_size_) == 0) return false;
    png_get_tRNS(png_, info_, &alpha, &alpha_count, nullptr);
    palette_size_ = std::clamp(palette_size_, 0, 256);
    for (int i = 0; i < palette_size_; ++i) {
      const std::array<uint8_t, 4> rgba = {
          colours[i].red, colours[i].green, colours[i].blue,
          i < alpha_count && alpha != nullptr ? alpha[i] : uint8_t{255}};
      put_over_white(rgba.data(), palette_[static_cast<size_t>(i)].data());
    }
    return true;
  }

  bool read_rows(const Layout& layout) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const size_t height = png_get_image_height(png_, info_);
    for (int pass = 0; pass < passes_; ++pass) {
      for (size_t y = 0; y < height; ++y) {
        uint8_t* row = layout.rows + y * layout.stride;
        png_read_row(png_, row, nullptr);
        if (pass == passes_ - 1) finish_row(layout, row, y);
      }
    }
    return true;
  }

  void finish_row(const Layout& layout, const uint8_t* row, size_t y) {
    const size_t width = layout.row_bytes / static_cast<size_t>(layout.channels);
    uint8_t* rgb = layout.pixels + y * width * 3;
    if (layout.channels == 4) {
      for (size_t x = 0; x < width; ++x) put_over_white(row + 4 * x, rgb + 3 * x);
    } else if (layout.channels == 1) {
      for (size_t x = 0; x < width; ++x) {
        if (row[x] >= palette_size_) png_error(png_, "a colour lies outside the palette");
        std::memcpy(rgb + 3 * x, palette_[row[x]].data(), 3);
      }
    }
  }

  // EXIF and XMP may come after the pixels.
  bool read_end() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_end(png_, info_);
    return true;
  }

  int metadata_orientation() {
    png_uint_32 exif_size = 0;
    png_bytep exif = nullptr;
    png_get_eXIf_1(png_, info_, &exif_size, &exif);
    std::vector<uint8_t> raw_profile;
    std::string_view xmp;
    png_textp texts = nullptr;
    const int count = png_get_text(png_, info_, &texts, nullptr);
    for (int i = 0; i < count; ++i) {
      const png_text& text = texts[i];
      if (text.key == nullptr || text.text == nullptr) continue;
      // Of iTXt the library fills itxt_length, of the other kinds text_length.
      const std::string_view value(text.text, std::max(text.text_length, text.itxt_length));
      if (text.key == kRawExifKey) raw_profile = parse_raw_profile(value);
      if (text.key == kXmpKey) xmp = value;
    }
    if (exif != nullptr) return find_orientation({exif, exif_size}, xmp);
    return find_orientation(raw_profile, xmp);
  }

  const Source& source_;
  size_t position_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  int palette_size_ = 0;
  std::array<std::array<uint8_t, 3>, 256> palette_{};
  std::array<char, 200> message_{};
};

}  // namespace

Image decode_png(const Source& source) { return Reader(source).read(); }

}  // namespace mlxcel::image
