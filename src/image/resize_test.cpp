// Bit for bit against Pillow, by checksums of its results.
#include "image/resize.h"

#include <gtest/gtest.h>

#include "image/test_support.h"

namespace mlxcel::image {
namespace {

using testing::error_of;
using testing::recipe;

std::pair<int, int> read_size(const base::JsonField& field) {
  const auto sides = field.as_list();
  return {static_cast<int>(sides.at(0).as_int(1, 100000)),
          static_cast<int>(sides.at(1).as_int(1, 100000))};
}

TEST(ResizeBicubic, equals_pillow) {
  const auto json = base::load_json(testing::fixture("resize.json"));
  const auto cases = base::JsonField(json, "resize.json").as_list();
  ASSERT_GE(cases.size(), 150U);
  base::ThreadPool pool(3);
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& item = cases[i];
    const auto [width, height] = read_size(item.at("from"));
    const auto [to_width, to_height] = read_size(item.at("to"));
    const auto seed = static_cast<uint32_t>(item.int_at("seed", 0, 1 << 30));
    const Image image = recipe(item.at("kind").as_string(), seed, width, height);
    const Image resized = resize_bicubic(image, to_width, to_height, i % 2 == 0 ? &pool : nullptr);
    EXPECT_EQ(resized.width, to_width);
    EXPECT_EQ(resized.height, to_height);
    EXPECT_EQ(testing::crc32(std::as_bytes(std::span(resized.pixels))),
              static_cast<uint32_t>(item.int_at("crc", 0, 0xFFFFFFFF)))
        << item.value().dump();
  }
}

TEST(ResizeBicubic, does_not_depend_on_threads) {
  const Image image = recipe("scene", 1, 501, 333);
  const Image alone = resize_bicubic(image, 200, 150);
  for (const int threads : {1, 2, 5}) {
    base::ThreadPool pool(threads);
    EXPECT_EQ(resize_bicubic(image, 200, 150, &pool).pixels, alone.pixels);
  }
}

TEST(ResizeBicubic, bad_sizes_are_refused) {
  const Image image = recipe("noise", 1, 4, 4);
  for (const auto& [width, height] :
       {std::pair{0, 4}, {4, 0}, {-1, 4}, {2'000'000'000, 2'000'000'000}, {1'000'000, 2000}}) {
    EXPECT_EQ(error_of([&, w = width, h = height] { resize_bicubic(image, w, h); }).kind(),
              base::ErrorKind::kBadInput);
  }
  EXPECT_EQ(error_of([] { resize_bicubic({}, 4, 4); }).kind(), base::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace mlxcel::image
