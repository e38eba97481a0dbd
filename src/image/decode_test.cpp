// Every kind of picture against Pillow's pixels, byte for byte.
#include "image/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "image/decoders.h"
#include "image/orientation.h"
#include "image/test_support.h"

namespace mlxcel::image {
namespace {

using testing::error_of;
using testing::fixture;
using testing::fixture_bytes;

struct Case {
  std::string file;
  int width;
  int height;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.file; }

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  const auto json = base::load_json(fixture("decode.json"));
  for (const auto& item : base::JsonField(json, "decode.json").as_list()) {
    cases.push_back({item.at("file").as_string(), static_cast<int>(item.int_at("width", 1, 10000)),
                     static_cast<int>(item.int_at("height", 1, 10000))});
  }
  return cases;
}

class DecodeTest : public ::testing::TestWithParam<Case> {};

TEST_P(DecodeTest, equals_pillow) {
  const Case& expected = GetParam();
  const Image image = load(fixture("decode/" + expected.file));
  EXPECT_EQ(image.width, expected.width);
  EXPECT_EQ(image.height, expected.height);
  const auto rgb =
      fixture_bytes("decode/" + expected.file.substr(0, expected.file.find('.')) + ".rgb");
  ASSERT_EQ(image.pixels.size(), rgb.size());
  int worst = 0;
  size_t different = 0;
  for (size_t i = 0; i < rgb.size(); ++i) {
    const int difference = std::abs(int{image.pixels[i]} - int{static_cast<uint8_t>(rgb[i])});
    worst = std::max(worst, difference);
    different += difference != 0 ? 1 : 0;
  }
  EXPECT_EQ(worst, 0) << different << " of " << rgb.size() << " samples differ";
}

INSTANTIATE_TEST_SUITE_P(Pictures, DecodeTest, ::testing::ValuesIn(read_cases()),
                         [](const auto& test) {
                           std::string name = test.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

std::span<const std::byte> as_span(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

TEST(Decode, content_decides_and_not_the_name) {
  const std::string bytes = fixture_bytes("decode/png_1x1.png");
  EXPECT_EQ(decode(as_span(bytes), "photo.jpg").pixels, (std::vector<uint8_t>{7, 8, 9}));
}

TEST(Decode, errors_open_with_the_name) {
  const std::string bytes = fixture_bytes("decode/jpeg_420.jpg").substr(0, 700);
  const auto error = error_of([&] { decode(as_span(bytes), "image 2"); });
  EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput);
  EXPECT_TRUE(std::string(error.what()).starts_with("image 2: JPEG: ")) << error.what();
}

TEST(Decode, cap_is_exact_for_every_format) {
  for (const char* file :
       {"jpeg_444.jpg", "png_rgb8.png", "webp_lossless.webp", "gif_palette.gif", "bmp_rgb.bmp"}) {
    const std::string bytes = fixture_bytes(std::string("decode/") + file);
    const Image image = decode(as_span(bytes), file);
    const int64_t area = int64_t{image.width} * image.height;
    EXPECT_EQ(decode(as_span(bytes), file, {.max_pixels = area}).pixels, image.pixels) << file;
    const auto error = error_of([&] { decode(as_span(bytes), file, {.max_pixels = area - 1}); });
    EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput);
    EXPECT_NE(std::string(error.what()).find("expected at most"), std::string::npos)
        << error.what();
  }
}

TEST(Decode, absent_and_oversized_files) {
  EXPECT_EQ(error_of([] { load("/nonexistent/cat.jpg"); }).kind(), base::ErrorKind::kNotFound);
  EXPECT_EQ(error_of([] { load(fixture("decode/png_rgb8.png"), {.max_file_bytes = 100}); }).kind(),
            base::ErrorKind::kBadInput);
}

TEST(OverWhite, is_the_rounded_quotient) {
  for (int value = 0; value < 256; ++value) {
    for (int alpha = 0; alpha < 256; ++alpha) {
      const int sum = value * alpha + 255 * (255 - alpha);
      const int expected = (2 * sum + 255) / 510;
      ASSERT_EQ(over_white(static_cast<uint32_t>(value), static_cast<uint32_t>(alpha)), expected)
          << value << " " << alpha;
    }
  }
}

TEST(Orientation, bad_metadata_means_upright) {
  const auto find = [](const std::string& exif, std::string_view xmp) {
    return find_orientation({reinterpret_cast<const uint8_t*>(exif.data()), exif.size()}, xmp);
  };
  const std::string good("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 22);
  EXPECT_EQ(find(good, ""), 6);
  for (size_t length = 0; length < 20; ++length)
    EXPECT_EQ(find(good.substr(0, length), ""), 1) << length;
  std::string far = good;
  far[7] = '\xFF';  // the directory lies far behind the end
  EXPECT_EQ(find(far, ""), 1);
  std::string several = good;
  several[14] = 2;  // two values: not an orientation
  EXPECT_EQ(find(several, ""), 1);
  EXPECT_EQ(find("", "<tiff:Orientation>5</tiff:Orientation>"), 5);
  EXPECT_EQ(find("", "tiff:Orientation tiff:Orientation=\"3\""), 3);
  EXPECT_EQ(find("", "tiff:Orientation=\"9\""), 1);
  EXPECT_EQ(find("", "tiff:Orientation=\""), 1);
}

}  // namespace
}  // namespace mlxcel::image
