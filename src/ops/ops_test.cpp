// Each operation on the CPU kernels against the same operation from stock MLX parts.
#include "ops/ops.h"

#include <gtest/gtest.h>
#include <mlx/ops.h>
#include <mlx/random.h>
#include <mlx/transforms.h>

#include <cmath>
#include <random>

#include "ops/kv_cache.h"
#include "ops/stock.h"

namespace mlxcel::ops {
namespace {

class OpsTest : public ::testing::Test {
 protected:
  base::ThreadPool pool_{2};
  Context kernels_{Backend::kKernels, &pool_};
  Context stock_{Backend::kStock, &pool_};
  std::mt19937 random_{7};

  mx::array randn(const mx::Shape& shape) {
    size_t count = 1;
    for (const int dim : shape) count *= static_cast<size_t>(dim);
    std::vector<float> values(count);
    std::normal_distribution<float> normal;
    for (float& v : values) v = normal(random_);
    return mx::array(values.data(), shape, mx::float32);
  }

  checkpoint::Vector vector(int n) {
    auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(n));
    std::normal_distribution<float> normal;
    for (float& v : *values) v = normal(random_);
    return values;
  }

  // A dense f32 matrix that owns its values.
  checkpoint::Matrix matrix(int out, int in) {
    auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(out * in));
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(in)));
    for (float& v : *values) v = normal(random_);
    return {{.data = values->data(), .dtype = base::DType::kF32, .out = out, .in = in}, values};
  }

  // The same as MLX quantises it.
  static checkpoint::Matrix quantized(const checkpoint::Matrix& dense, int bits, int group) {
    auto parts =
        std::make_shared<std::vector<mx::array>>(mx::quantize(stock::dense(dense), group, bits));
    mx::eval(*parts);
    return {{.data = (*parts)[0].data<uint32_t>(),
             .dtype = base::DType::kF32,
             .out = dense.view.out,
             .in = dense.view.in,
             .bits = bits,
             .group_size = group,
             .scales = (*parts)[1].data<float>(),
             .biases = (*parts)[2].data<float>()},
            parts};
  }

  static void expect_close(mx::array a, mx::array b, float tolerance = 2e-5F) {
    ASSERT_EQ(a.shape(), b.shape());
    const mx::array limit =
        mx::array(tolerance) * mx::maximum(mx::max(mx::abs(b)), mx::array(1.0F));
    mx::array worst = mx::max(mx::abs(mx::subtract(a, b))) / limit;
    worst.eval();
    EXPECT_LE(worst.item<float>(), 1.0F);
  }
};

TEST_F(OpsTest, LinearWithEveryEpilogue) {
  for (const int rows : {1, 3, 40}) {
    const mx::array x = randn({rows, 64});
    const mx::array residual = randn({rows, 48});
    const LinearParams params = {matrix(48, 64), vector(48)};
    for (const auto activation : {Activation::kNone, Activation::kGeluErf, Activation::kGeluTanh,
                                  Activation::kQuickGelu, Activation::kSilu}) {
      const LinearOptions options = {.activation = activation, .residual = &residual};
      expect_close(linear(kernels_, x, params, options), linear(stock_, x, params, options));
    }
  }
}

TEST_F(OpsTest, QuantizedLinearAndEmbedding) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      const checkpoint::Matrix weight = quantized(matrix(24, 256), bits, group);
      for (const int rows : {1, 5, 33}) {
        const mx::array x = randn({rows, 256});
        expect_close(linear(kernels_, x, {weight, nullptr}), linear(stock_, x, {weight, nullptr}));
      }
      const std::vector<int32_t> ids = {23, 0, 7, 7};
      expect_close(embedding(kernels_, weight, ids), embedding(stock_, weight, ids));
    }
  }
}

TEST_F(OpsTest, LinearManyAndSwiglu) {
  const mx::array x = randn({7, 96});
  const std::vector<LinearParams> layers = {
      {matrix(64, 96), nullptr}, {matrix(32, 96), vector(32)}, {matrix(32, 96), nullptr}};
  const auto fast = linear_many(kernels_, x, layers);
  const auto slow = linear_many(stock_, x, layers);
  for (size_t i = 0; i < layers.size(); ++i) expect_close(fast[i], slow[i]);
  const LinearParams other = {matrix(64, 96), nullptr};
  expect_close(linear_swiglu(kernels_, x, layers[0], other),
               linear_swiglu(stock_, x, layers[0], other));
}

TEST_F(OpsTest, Norms) {
  const mx::array x = randn({5, 3, 40});
  const auto weight = vector(40);
  const auto bias = vector(40);
  expect_close(rms_norm(kernels_, x, weight, 1e-6F), rms_norm(stock_, x, weight, 1e-6F));
  expect_close(layer_norm(kernels_, x, weight, bias, 1e-6F),
               layer_norm(stock_, x, weight, bias, 1e-6F));
}

TEST_F(OpsTest, RopeInEveryLayout) {
  const mx::array x = randn({6, 3, 32});
  for (const auto layout :
       {RopeLayout::kSplitHalf, RopeLayout::kAdjacent, RopeLayout::kInterleavedLanes}) {
    const int width = layout == RopeLayout::kInterleavedLanes ? 32 : 16;
    const mx::array angles = randn({6, width});
    const RopeTables tables = {mx::cos(angles), mx::sin(angles), layout};
    expect_close(rope(kernels_, x, tables), rope(stock_, x, tables));
  }
}

TEST_F(OpsTest, BlockAttentionStaysInsideItsBlocks) {
  const mx::array q = randn({50, 2, 32});
  const mx::array k = randn({50, 2, 32});
  const mx::array v = randn({50, 2, 32});
  const std::vector<int64_t> blocks = {0, 1, 20, 50};
  expect_close(block_attention(kernels_, q, k, v, blocks, 0.2F),
               block_attention(stock_, q, k, v, blocks, 0.2F));
}

TEST_F(OpsTest, CachedAttentionInChunksEqualsStock) {
  const KvCacheShape shape = {.layers = 1, .kv_heads = 2, .head_dim = 16, .block_tokens = 8};
  KvCache fast(shape);
  KvCache slow(shape);
  for (const int count : {5, 1, 17, 1, 9}) {
    const mx::array q = randn({count, 4, 16});
    const mx::array k = randn({count, 2, 16});
    const mx::array v = randn({count, 2, 16});
    const int64_t start = fast.append(count);
    ASSERT_EQ(slow.append(count), start);
    expect_close(cached_attention(kernels_, fast, 0, start, q, k, v, 0.25F),
                 cached_attention(stock_, slow, 0, start, q, k, v, 0.25F));
  }
  EXPECT_EQ(fast.tokens(), 33);
  EXPECT_EQ(fast.allocated_bytes(), 2 * 5 * 2 * 8 * 16 * 4);
}

TEST_F(OpsTest, TruncatedCacheForgetsTheRest) {
  KvCache cache({.layers = 1, .kv_heads = 1, .head_dim = 8});
  KvCache fresh({.layers = 1, .kv_heads = 1, .head_dim = 8});
  const mx::array first = randn({3, 1, 8});
  const mx::array wrong = randn({2, 1, 8});
  const mx::array next = randn({1, 1, 8});
  const auto run = [&](KvCache& c, const mx::array& x) {
    mx::array y = cached_attention(kernels_, c, 0, c.append(x.shape(0)), x, x, x, 1);
    y.eval();
    return y;
  };
  run(cache, first);
  run(cache, wrong);
  cache.truncate(3);
  run(fresh, first);
  const mx::array got = run(cache, next);
  const mx::array want = run(fresh, next);
  EXPECT_TRUE(std::equal(got.data<float>(), got.data<float>() + got.size(), want.data<float>()));
}

TEST_F(OpsTest, TokenIdsOutsideTheTableAreRefused) {
  const checkpoint::Matrix table = matrix(10, 8);
  const std::vector<int32_t> high = {10};
  const std::vector<int32_t> negative = {-1};
  EXPECT_ANY_THROW(embedding(kernels_, table, high));
  EXPECT_ANY_THROW(embedding(kernels_, table, negative));
}

}  // namespace
}  // namespace mlxcel::ops
