// Against a table made by the reference's own arithmetic in Python.
#include "image/smart_resize.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "image/test_support.h"

namespace mlxcel::image {
namespace {

using testing::error_of;

TEST(SmartResize, equals_the_python_table) {
  const auto json = base::load_json(testing::fixture("smart_resize.json"));
  const auto rows = base::JsonField(json, "smart_resize.json").as_list();
  ASSERT_GE(rows.size(), 300U);
  size_t refused = 0;
  for (const auto& row : rows) {
    const auto field = row.as_list();
    ASSERT_EQ(field.size(), 7U);
    const int64_t height = field[0].as_int();
    const int64_t width = field[1].as_int();
    const ResizeBounds bounds{field[2].as_int(), field[3].as_int(), field[4].as_int()};
    const Size expected{static_cast<int>(field[5].as_int()), static_cast<int>(field[6].as_int())};
    if (expected.height == 0) {
      ++refused;
      EXPECT_THROW(smart_resize(height, width, bounds), base::Error) << row.value().dump();
      continue;
    }
    EXPECT_EQ(smart_resize(height, width, bounds), expected) << row.value().dump();
  }
  EXPECT_GT(refused, 0U);
}

TEST(SmartResize, rounds_half_to_even) {
  const ResizeBounds bounds{32, 1, 4'000'000};
  EXPECT_EQ(smart_resize(80, 80, bounds), (Size{64, 64}));      // 2.5 -> 2
  EXPECT_EQ(smart_resize(112, 112, bounds), (Size{128, 128}));  // 3.5 -> 4
}

TEST(SmartResize, ratio_of_200_passes_and_more_is_refused) {
  const ResizeBounds bounds{32, 3136, 4'000'000};
  EXPECT_NO_THROW(smart_resize(10, 2000, bounds));
  const auto error = error_of([&] { smart_resize(10, 2001, bounds); });
  EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput);
  EXPECT_EQ(std::string(error.what()),
            "picture is 2001x10, expected a long side of at most 200 times the short one");
}

TEST(SmartResize, bad_bounds_and_sides_are_refused) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (const ResizeBounds& bounds :
       {ResizeBounds{0, 1, 100}, ResizeBounds{-32, 1, 100}, ResizeBounds{kHuge, 1, 100},
        ResizeBounds{32, 0, 100}, ResizeBounds{32, 101, 100}, ResizeBounds{32, 1, kHuge}}) {
    EXPECT_EQ(error_of([&] { smart_resize(64, 64, bounds); }).kind(), base::ErrorKind::kBadInput);
  }
  for (const auto& [height, width] :
       {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {-1, 5}, {kHuge, kHuge}}) {
    EXPECT_EQ(error_of([&, h = height, w = width] { smart_resize(h, w, {}); }).kind(),
              base::ErrorKind::kBadInput);
  }
}

}  // namespace
}  // namespace mlxcel::image
