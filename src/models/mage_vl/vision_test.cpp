#include "models/mage_vl/vision.h"

#include <gtest/gtest.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <cmath>
#include <random>

#include "base/json.h"

namespace mlxcel::models {
namespace {

// A two-layer tower with random weights, in memory.
class MageVisionTest : public ::testing::Test {
 protected:
  MageVisionTest() {
    const base::Json json = base::parse_json(R"({
      "model_type": "mage_vl", "image_token_id": 1, "video_token_id": 2, "vision_start_token_id": 3,
      "vision_end_token_id": 4,
      "text_config": {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 32,
        "intermediate_size": 64, "vocab_size": 16, "rope_parameters": {"rope_theta": 5000000}},
      "vision_config": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 1,
        "intermediate_size": 96, "patch_size": 4, "frame_windows_size": 4}})",
                                             "config.json");
    family_ = parse_mage_vl({json, "config.json"});
    std::mt19937 random(3);
    std::vector<checkpoint::Tensor> tensors;
    for (const auto& row : family_->schema.rows) {
      for (int64_t n = 0; n < std::max<int64_t>(1, row.count); ++n) {
        checkpoint::Tensor tensor = {
            .name = checkpoint::spell(family_->schema.layouts[0], checkpoint::expand(row, n)),
            .dtype = base::DType::kF32,
            .shape = row.shape};
        auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(tensor.elements()));
        std::normal_distribution<float> normal(0, 0.2F);
        for (float& v : *values) v = normal(random);
        tensor.data = std::as_bytes(std::span(*values));
        tensor.owner = values;
        tensors.push_back(std::move(tensor));
      }
    }
    weights_ = checkpoint::Weights::load(
        checkpoint::TensorSet::from_tensors(std::move(tensors), "memory"), family_->schema, {});
  }

  image::Patches picture(image::Grid grid, unsigned seed) const {
    image::Patches patches = {.rows = std::vector<float>(static_cast<size_t>(grid.patches() * 48)),
                              .grid = grid};
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& v : patches.rows) v = normal(random);
    return patches;
  }

  std::vector<float> run(std::vector<const image::Patches*> pictures,
                         ops::Backend backend = ops::Backend::kKernels) {
    const MageVision vision(dynamic_cast<const MageVlConfig&>(*family_).vision, weights_,
                            {backend, &pool_});
    mx::array y = vision.forward(pictures, nullptr);
    y.eval();
    rows_ = y.shape(0);
    return {y.data<float>(), y.data<float>() + y.size()};
  }

  static void expect_close(std::span<const float> a, std::span<const float> b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 1e-4F * std::max(1.0F, std::fabs(b[i])));
  }

  std::unique_ptr<FamilyConfig> family_;
  checkpoint::Weights weights_;
  base::ThreadPool pool_{2};
  int rows_ = 0;
};

TEST_F(MageVisionTest, forward_output_rows_equal_patches_over_four) {
  const auto one = picture({1, 6, 4}, 1);
  run({&one});
  EXPECT_EQ(rows_, 6 * 4 / 4);
}

TEST_F(MageVisionTest, KernelsEqualStockOperations) {
  const auto one = picture({1, 6, 4}, 1);
  const auto two = picture({1, 2, 8}, 2);
  const auto fast = run({&one, &two});
  expect_close(fast, run({&one, &two}, ops::Backend::kStock));
}

TEST_F(MageVisionTest, PackedPicturesDoNotSeeEachOther) {
  const auto one = picture({1, 6, 4}, 1);
  const auto two = picture({1, 2, 8}, 2);
  const auto alone_one = run({&one});
  const auto alone_two = run({&two});
  const auto packed = run({&one, &two});
  expect_close(std::span(packed).first(alone_one.size()), alone_one);
  expect_close(std::span(packed).subspan(alone_one.size()), alone_two);
}

TEST(MageAttentionBlocks, WindowsOfFramesAndOneBlockAPicture) {
  const std::vector<image::Grid> grids = {{1, 4, 4}, {6, 2, 2}, {8, 2, 4}};
  EXPECT_EQ(mage_attention_blocks(grids, 4), (std::vector<int64_t>{0, 16, 32, 40, 72, 104}));
}

// Six frames are windows of four and two: changing a frame of the second leaves the first as it
// was.
TEST_F(MageVisionTest, FramesAttendInsideTheirWindowOnly) {
  const auto clip = picture({6, 2, 2}, 5);
  auto changed = clip;
  for (size_t i = changed.rows.size() / 6 * 5; i < changed.rows.size(); ++i) changed.rows[i] += 1;
  const auto before = run({&clip});
  const auto after = run({&changed});
  const size_t frame = before.size() / 6;
  for (size_t i = 0; i < 4 * frame; ++i) ASSERT_EQ(before[i], after[i]);
  double moved = 0;
  for (size_t i = 4 * frame; i < 5 * frame; ++i) moved += std::fabs(before[i] - after[i]);
  EXPECT_GT(moved, 1e-3);
}

}  // namespace
}  // namespace mlxcel::models
