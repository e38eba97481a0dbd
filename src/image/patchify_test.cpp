#include "image/patchify.h"

#include <gtest/gtest.h>

#include <set>

#include "image/test_support.h"

namespace mlxcel::image {
namespace {

using testing::error_of;
using testing::recipe;
using Position = std::array<int32_t, 3>;

TEST(Positions, positions_follow_2x2_block_order) {
  const auto positions = positions_from_grid({1, 4, 4}, 2);
  ASSERT_EQ(positions.size(), 16U);
  const std::vector<Position> first(positions.begin(), positions.begin() + 8);
  const std::vector<Position> expected = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1},
                                          {0, 0, 2}, {0, 0, 3}, {0, 1, 2}, {0, 1, 3}};
  EXPECT_EQ(first, expected);
}

TEST(Positions, every_group_of_four_shares_one_merge_cell) {
  const auto positions = positions_from_grid({2, 6, 10}, 2);
  ASSERT_EQ(positions.size(), 120U);
  std::set<Position> cells;
  for (size_t i = 0; i < positions.size(); i += 4) {
    const Position cell = {positions[i][0], positions[i][1] / 2, positions[i][2] / 2};
    EXPECT_TRUE(cells.insert(cell).second);
    for (size_t k = 1; k < 4; ++k) {
      const Position& p = positions[i + k];
      EXPECT_EQ((Position{p[0], p[1] / 2, p[2] / 2}), cell);
    }
  }
}

TEST(Positions, positions_cover_grid_exactly_once) {
  const auto positions = positions_from_grid({2, 8, 6}, 2);
  const std::set<Position> distinct(positions.begin(), positions.end());
  EXPECT_EQ(positions.size(), 96U);
  EXPECT_EQ(distinct.size(), 96U);
  for (const Position& p : distinct) {
    EXPECT_TRUE(p[0] >= 0 && p[0] < 2 && p[1] >= 0 && p[1] < 8 && p[2] >= 0 && p[2] < 6);
  }
}

TEST(Positions, other_merge_sizes) {
  const std::vector<Position> row_major = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}};
  EXPECT_EQ(positions_from_grid({1, 2, 2}, 1), row_major);
  EXPECT_EQ(positions_from_grid({1, 3, 6}, 3)[9], (Position{0, 0, 3}));
  EXPECT_EQ(error_of([] { positions_from_grid({1, 3, 4}, 2); }).kind(), base::ErrorKind::kBadInput);
  EXPECT_EQ(error_of([] { positions_from_grid({1, 4, 4}, 0); }).kind(), base::ErrorKind::kBadInput);
}

// The order of rows and the order inside a row, told by pixels that name their place.
TEST(Patchify, rows_lie_at_their_positions) {
  Image image{8, 8, {}};
  for (int i = 0; i < 64; ++i) {
    for (int c = 0; c < 3; ++c) image.pixels.push_back(static_cast<uint8_t>(i + 64 * c));
  }
  const Patches patches =
      patchify({&image, 1}, {.patch = 2, .merge = 2, .temporal = 1, .rescale = 1});
  EXPECT_EQ(patches.grid, (Grid{1, 4, 4}));
  ASSERT_EQ(patches.rows.size(), 16U * 12);
  const auto positions = positions_from_grid(patches.grid, 2);
  for (size_t row = 0; row < 16; ++row) {
    for (size_t k = 0; k < 12; ++k) {
      const auto [t, h, w] = positions[row];
      const size_t c = k / 4;
      const size_t y = static_cast<size_t>(h) * 2 + k % 4 / 2;
      const size_t x = static_cast<size_t>(w) * 2 + k % 2;
      EXPECT_EQ(patches.rows[row * 12 + k], static_cast<float>(image.pixels[(y * 8 + x) * 3 + c]));
    }
  }
}

TEST(Patchify, a_still_repeats_its_frame_and_an_odd_last_frame_is_repeated) {
  const std::vector<Image> frames = {recipe("noise", 1, 4, 4), recipe("noise", 2, 4, 4),
                                     recipe("noise", 3, 4, 4)};
  const PatchOptions options{.patch = 2, .merge = 2, .temporal = 2};
  const std::vector<Image> twice = {frames[0], frames[0]};
  EXPECT_EQ(patchify({frames.data(), 1}, options).rows, patchify(twice, options).rows);
  const std::vector<Image> even = {frames[0], frames[1], frames[2], frames[2]};
  const Patches odd = patchify(frames, options);
  EXPECT_EQ(odd.grid, (Grid{2, 2, 2}));
  EXPECT_EQ(odd.rows, patchify(even, options).rows);
  EXPECT_EQ(odd.rows.size(), 8U * 24);
}

TEST(Patchify, bad_arguments_are_refused) {
  const Image image = recipe("noise", 1, 8, 8);
  const auto kind_of = [&](std::span<const Image> frames, const PatchOptions& options) {
    return error_of([&] { patchify(frames, options); }).kind();
  };
  EXPECT_EQ(kind_of({}, {}), base::ErrorKind::kBadInput);
  EXPECT_EQ(kind_of({&image, 1}, {.patch = 3}), base::ErrorKind::kBadInput);
  EXPECT_EQ(kind_of({&image, 1}, {.patch = 0}), base::ErrorKind::kBadInput);
  EXPECT_EQ(kind_of({&image, 1}, {.patch = 2, .temporal = 9}), base::ErrorKind::kBadInput);
  EXPECT_EQ(kind_of({&image, 1}, {.patch = 2, .std = {1, 0, 1}}), base::ErrorKind::kBadInput);
  const std::vector<Image> mixed = {image, recipe("noise", 1, 16, 8)};
  EXPECT_EQ(kind_of(mixed, {.patch = 2}), base::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace mlxcel::image
