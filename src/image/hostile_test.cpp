// Pictures that were made or damaged to do harm: each must end as an error or as a picture. The
// sanitizer builds are what gives this test its teeth.
#include <gtest/gtest.h>

#include "image/decode.h"
#include "image/test_support.h"

namespace mlxcel::image {
namespace {

using testing::fixture;
using testing::fixture_bytes;

std::span<const std::byte> as_span(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

// Empty when the bytes decode; then the picture is consistent.
std::string error_in(const std::string& bytes, const std::string& name,
                     int64_t max_pixels = 100'000'000) {
  try {
    const Image image = decode(as_span(bytes), name, {.max_pixels = max_pixels});
    EXPECT_EQ(image.pixels.size(),
              static_cast<size_t>(image.width) * static_cast<size_t>(image.height) * 3);
    return "";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput) << error.what();
    EXPECT_TRUE(std::string(error.what()).starts_with(name + ": ")) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
}

TEST(Hostile, made_pictures_are_refused_with_a_reason) {
  const auto json = base::load_json(fixture("hostile.json"));
  const auto cases = base::JsonField(json, "hostile.json").as_list();
  EXPECT_GE(cases.size(), 50U);
  for (const auto& item : cases) {
    const std::string file = item.at("file").as_string();
    const std::string error = error_in(fixture_bytes("hostile/" + file), file);
    const std::string expected = item.at("error").as_string();
    if (expected.empty()) continue;  // harmless either way
    EXPECT_NE(error.find(expected), std::string::npos)
        << file << ": '" << error << "', expected '" << expected << "'";
  }
}

// Files of every kind, small enough to be damaged at each byte.
std::vector<std::string> victims() {
  return {"jpeg_exif6.jpg",
          "jpeg_cmyk.jpg",
          "jpeg_progressive.jpg",
          "jpeg_restart.jpg",
          "jpeg_grey.jpg",
          "png_rgba8.png",
          "png_palette4_alpha.png",
          "png_rgb16_interlaced.png",
          "png_exif3.png",
          "png_raw_profile.png",
          "png_xmp.png",
          "webp_lossy.webp",
          "webp_lossless.webp",
          "webp_exif8.webp",
          "webp_animated_alpha.webp",
          "webp_lossy_alpha.webp",
          "gif_palette.gif",
          "gif_transparent.gif",
          "gif_interlaced.gif",
          "gif_animated.gif",
          "bmp_rgb.bmp",
          "bmp_alpha124.bmp",
          "bmp_rle8.bmp",
          "bmp_rle4.bmp",
          "bmp_p.bmp",
          "bmp_565.bmp"};
}

// What may be cut without loss: the padding of the last BMP row or the end mark behind its pixels,
// what follows the first frame of a GIF.
size_t harmless_tail(const std::string& file) {
  if (file.starts_with("bmp")) return 4;
  return file == "gif_animated.gif" ? 100'000 : file.starts_with("gif") ? 1 : 0;
}

TEST(Hostile, no_truncated_picture_passes_as_whole) {
  for (const std::string& file : victims()) {
    const std::string bytes = fixture_bytes("decode/" + file);
    const Image whole = decode(as_span(bytes), file);
    for (size_t length = 0; length < bytes.size(); ++length) {
      const std::string cut = bytes.substr(0, length);
      if (!error_in(cut, file).empty()) continue;
      EXPECT_LE(bytes.size() - length, harmless_tail(file)) << file << " cut to " << length;
      EXPECT_EQ(decode(as_span(cut), file).pixels, whole.pixels) << file << " cut to " << length;
    }
  }
}

TEST(Hostile, flipped_bits_end_as_error_or_picture) {
  size_t refused = 0;
  size_t tried = 0;
  for (const std::string& file : victims()) {
    const std::string bytes = fixture_bytes("decode/" + file);
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const int mask : {0x01, 0x80, 0xFF}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ mask);
        refused += error_in(damaged, file, 1'000'000).empty() ? 0 : 1;
        ++tried;
      }
    }
  }
  EXPECT_GT(refused, tried / 10);  // checksums and structure are looked at
}

TEST(Hostile, overwritten_words_end_as_error_or_picture) {
  for (const std::string& file : victims()) {
    const std::string bytes = fixture_bytes("decode/" + file);
    for (size_t at = 0; at + 4 <= bytes.size(); ++at) {
      for (const std::string_view word :
           {std::string_view("\xFF\xFF\xFF\xFF", 4), std::string_view("\0\0\0\0", 4),
            std::string_view("\x7F\xFF\xFF\xFF", 4)}) {
        std::string damaged = bytes;
        damaged.replace(at, word.size(), word);
        error_in(damaged, file, 1'000'000);
      }
    }
  }
}

}  // namespace
}  // namespace mlxcel::image
