#include "nn/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include <mlx/ops.h>

namespace mlxcel::nn {
namespace {

namespace mx = mlx::core;

std::vector<float> values(mx::array x) {
  x = mx::contiguous(x);
  x.eval();
  return {x.data<float>(), x.data<float>() + x.size()};
}

TEST(AxisRope, inv_freq_sizes_are_8_12_12_for_head_dim_64) {
  const AxisFrequencies f = axis_frequencies(10000.0F, 64);
  EXPECT_EQ(f.t.size(), 8U);
  EXPECT_EQ(f.h.size(), 12U);
  EXPECT_EQ(f.w.size(), 12U);
  // The exponent is i/size: the last of t is base^(-7/8).
  EXPECT_FLOAT_EQ(f.t[7], static_cast<float>(std::pow(10000.0, -7.0 / 8.0)));
  EXPECT_FLOAT_EQ(f.h[1], static_cast<float>(std::pow(10000.0, -1.0 / 12.0)));
  EXPECT_EQ(f.w[0], 1.0F);
}

// x cos + rotate_half(x) sin with cos = 0 and sin = 1 is rotate_half itself.
TEST(AxisRope, rotate_half_is_interleaved) {
  base::ThreadPool pool(1);
  const float x[] = {1, 2, 3, 4};
  const mx::array input(x, {1, 1, 4}, mx::float32);
  const ops::RopeTables quarter_turn = {mx::zeros({1, 4}), mx::ones({1, 4}),
                                        ops::RopeLayout::kInterleavedLanes};
  for (const auto backend : {ops::Backend::kKernels, ops::Backend::kStock}) {
    EXPECT_EQ(values(ops::rope({backend, &pool}, input, quarter_turn)),
              (std::vector<float>{-2, 1, -4, 3}));
  }
}

TEST(AxisRope, TablesRepeatTheWholeHalfSoThatNeighboursDiffer) {
  const AxisFrequencies f = axis_frequencies(10000.0F, 64);
  const std::array<int32_t, 3> position = {2, 3, 5};
  const ops::RopeTables tables = axis_rope(f, std::span(&position, 1));
  const std::vector<float> cos = values(tables.cos);
  ASSERT_EQ(cos.size(), 64U);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(cos[i], cos[i + 32]);
  EXPECT_FLOAT_EQ(cos[0], std::cos(2.0F));
  EXPECT_FLOAT_EQ(cos[1], std::cos(2.0F * f.t[1]));
  EXPECT_FLOAT_EQ(cos[8], std::cos(3.0F));
  EXPECT_FLOAT_EQ(cos[20], std::cos(5.0F));
}

TEST(DecoderRope, FrequenciesFollowTheBase) {
  const auto slow = decoder_frequencies(5e6F, 128);
  ASSERT_EQ(slow.size(), 64U);
  EXPECT_EQ(slow[0], 1.0F);
  EXPECT_FLOAT_EQ(slow[63], static_cast<float>(std::pow(5e6, -126.0 / 128.0)));
}

}  // namespace
}  // namespace mlxcel::nn
