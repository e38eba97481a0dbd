// Norms, softmax, argmax, rope, embedding, elementwise operations and kv_store's rounding, against
// double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/test_util.h"

namespace mlxcel::kernels {
namespace {

using base::DType;
using test::for_each_target;
using test::random_floats;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(RmsNorm, OverSizes) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (int64_t dim = 1; dim <= 140; ++dim) {
      const int64_t rows = 1 + dim % 5;
      const auto width = static_cast<size_t>(dim);
      const std::vector<float> x = random_floats(static_cast<size_t>(rows) * width, 1, 3.0f);
      const std::vector<float> weight = random_floats(width, 2);
      std::vector<float> y = x;
      rms_norm(y.data(), rows, dim, weight.data(), 1e-6f, y.data(), pool);
      for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
        double squares = 0;
        for (size_t i = 0; i < width; ++i)
          squares += static_cast<double>(x[r * width + i]) * x[r * width + i];
        const double scale = 1 / std::sqrt(squares / static_cast<double>(dim) + 1e-6);
        for (size_t i = 0; i < width; ++i) {
          const double expected = x[r * width + i] * scale * weight[i];
          ASSERT_NEAR(y[r * width + i], expected, 1e-6 * std::abs(expected) + 1e-12) << dim;
        }
      }
    }
  });
}

TEST(LayerNorm, OverSizesAndOffsets) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const float offset : {0.0f, 100.0f}) {
      for (int64_t dim = 1; dim <= 140; ++dim) {
        const int64_t rows = 1 + dim % 4;
        const auto width = static_cast<size_t>(dim);
        std::vector<float> x = random_floats(static_cast<size_t>(rows) * width, 1, 3.0f);
        for (float& value : x) value += offset;
        const std::vector<float> weight = random_floats(width, 2);
        const std::vector<float> bias = random_floats(width, 3);
        std::vector<float> y(x.size());
        layer_norm(x.data(), rows, dim, weight.data(), bias.data(), 1e-5f, y.data(), pool);
        for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
          double mean = 0;
          for (size_t i = 0; i < width; ++i) mean += x[r * width + i];
          mean /= static_cast<double>(dim);
          double variance = 0;
          for (size_t i = 0; i < width; ++i) variance += std::pow(x[r * width + i] - mean, 2);
          variance /= static_cast<double>(dim);
          for (size_t i = 0; i < width; ++i) {
            const double expected =
                (x[r * width + i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
            // The mean itself carries a relative error of f32.
            ASSERT_NEAR(y[r * width + i], expected, 3e-6 * (1 + offset / 10)) << dim;
          }
        }
      }
    }
  });
}

TEST(Norms, SameBitsForAnyNumberOfThreads) {
  for_each_target([&] {
    const std::vector<float> x = random_floats(300 * 200, 1);
    const std::vector<float> weight = random_floats(200, 2);
    std::vector<float> expected(x.size());
    base::ThreadPool one(1);
    rms_norm(x.data(), 300, 200, weight.data(), 1e-6f, expected.data(), one);
    for (const int threads : {2, 3, 4}) {
      base::ThreadPool pool(threads);
      std::vector<float> y(x.size());
      rms_norm(x.data(), 300, 200, weight.data(), 1e-6f, y.data(), pool);
      ASSERT_EQ(y, expected);
    }
  });
}

TEST(Softmax, OverSizes) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (int64_t width = 1; width <= 70; ++width) {
      const auto n = static_cast<size_t>(width);
      std::vector<float> x = random_floats(3 * n, 1, 20.0f);
      if (width > 2) x[1] = -kInfinity;
      for (size_t i = 0; i < n; ++i) x[n + i] += 1e30f;  // equal after rounding
      std::vector<float> y(x.size());
      softmax(x.data(), 3, width, y.data(), pool);
      for (size_t r = 0; r < 3; ++r) {
        const double top = *std::max_element(x.begin() + static_cast<ptrdiff_t>(r * n),
                                             x.begin() + static_cast<ptrdiff_t>((r + 1) * n));
        double sum = 0;
        for (size_t i = 0; i < n; ++i) sum += std::exp(x[r * n + i] - top);
        for (size_t i = 0; i < n; ++i) {
          const double expected = std::exp(x[r * n + i] - top) / sum;
          // x - top is rounded to f32 before exp makes a relative error of it.
          const double difference = std::min(200.0, top - x[r * n + i]);
          ASSERT_NEAR(y[r * n + i], expected, 2e-7 * (4 + difference) * expected + 1e-40);
        }
      }
    }
  });
}

TEST(ArgMax, FirstOfTheLargest) {
  for_each_target([&] {
    for (size_t n = 1; n <= 90; ++n) {
      std::vector<float> x = random_floats(n, static_cast<uint32_t>(n));
      const auto expected = std::max_element(x.begin(), x.end()) - x.begin();
      ASSERT_EQ(argmax(x.data(), static_cast<int64_t>(n)), expected);
      // Equals behind it, NaN around it.
      const float top = x[static_cast<size_t>(expected)];
      x.push_back(top);
      x.insert(x.begin(), kNan);
      x.push_back(kNan);
      ASSERT_EQ(argmax(x.data(), static_cast<int64_t>(x.size())), expected + 1);
    }
    const std::vector<float> nothing(37, kNan);
    EXPECT_EQ(argmax(nothing.data(), 37), 0);
    std::vector<float> low(37, kNan);
    low[20] = low[30] = -kInfinity;
    EXPECT_EQ(argmax(low.data(), 37), 20);
    low[35] = kInfinity;
    EXPECT_EQ(argmax(low.data(), 37), 35);
    const std::vector<float> zeros = {-0.0f, 0.0f};
    EXPECT_EQ(argmax(zeros.data(), 2), 0);
  });
}

TEST(Rope, AllLayouts) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const RopeLayout layout :
         {RopeLayout::kSplitHalf, RopeLayout::kAdjacent, RopeLayout::kInterleavedLanes}) {
      for (int64_t dim = 2; dim <= 140; dim += 2) {
        const int64_t rows = 1 + dim % 7;
        const int64_t heads = 1 + dim % 3;
        const int64_t stride = heads * dim + 3;
        const int64_t width = layout == RopeLayout::kInterleavedLanes ? dim : dim / 2;
        const std::vector<float> x = random_floats(static_cast<size_t>(rows * stride), 1);
        const std::vector<float> cos = random_floats(static_cast<size_t>(rows * width), 2);
        const std::vector<float> sin = random_floats(static_cast<size_t>(rows * width), 3);
        std::vector<double> expected(x.begin(), x.end());
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t h = 0; h < heads; ++h) {
            for (int64_t p = 0; p < dim / 2; ++p) {
              const bool split = layout == RopeLayout::kSplitHalf;
              const int64_t ia = split ? p : 2 * p;
              const int64_t ib = split ? p + dim / 2 : 2 * p + 1;
              const bool lanes = layout == RopeLayout::kInterleavedLanes;
              const auto ta = static_cast<size_t>(r * width + (lanes ? ia : p));
              const auto tb = static_cast<size_t>(r * width + (lanes ? ib : p));
              const auto at = static_cast<size_t>(r * stride + h * dim);
              const double a = x[at + static_cast<size_t>(ia)];
              const double b = x[at + static_cast<size_t>(ib)];
              expected[at + static_cast<size_t>(ia)] = a * cos[ta] - b * sin[ta];
              expected[at + static_cast<size_t>(ib)] = b * cos[tb] + a * sin[tb];
            }
          }
        }
        std::vector<float> y = x;
        rope(y.data(), rows, heads, dim, stride, cos.data(), sin.data(), layout, pool);
        for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 2e-6) << dim;
      }
    }
  });
}

TEST(Embedding, AllFormats) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const int bits : {0, 2, 3, 4, 5, 6, 8}) {
      for (const int group : {32, 64, 128}) {
        for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
          const int64_t in = bits == 0 ? group / 2 + 5 : 2 * group;
          const test::Matrix m =
              test::make_matrix({11, in, dtype, bits, bits == 0 ? 0 : group, 3, 9, 0.1f});
          std::vector<float> all(static_cast<size_t>(11 * in));
          dequantize(m.view, all.data(), pool);
          for (size_t i = 0; i < all.size(); ++i) {
            // One multiplication and one addition; |scale * q| is below a few tens here.
            ASSERT_NEAR(all[i], m.values[i], bits == 0 ? 0 : 8e-6);
          }
          const std::vector<int32_t> ids = {10, 0, 3, 3, 7};
          std::vector<float> y(ids.size() * static_cast<size_t>(in));
          embedding(m.view, ids, y.data(), pool);
          for (size_t i = 0; i < y.size(); ++i) {
            const auto row = static_cast<size_t>(ids[i / static_cast<size_t>(in)]);
            ASSERT_EQ(y[i], all[row * static_cast<size_t>(in) + i % static_cast<size_t>(in)]);
          }
        }
      }
    }
  });
}

TEST(Embedding, EveryHalf) {
  base::ThreadPool pool(1);
  std::vector<uint16_t> table(65536);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint16_t>(i);
  for_each_target([&] {
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      WeightView view;
      view.data = table.data();
      view.dtype = dtype;
      view.out = 256;
      view.in = 256;
      std::vector<float> y(65536);
      dequantize(view, y.data(), pool);
      for (uint32_t i = 0; i < 65536; ++i) {
        const auto half = static_cast<uint16_t>(i);
        const float expected =
            dtype == DType::kF16 ? base::f16_to_f32(half) : base::bf16_to_f32(half);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(y[i])) << i;
        } else {
          ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected)) << i;
        }
      }
    }
  });
}

TEST(Elementwise, AddAndMulOverSizes) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const size_t n : {0, 1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 100, 40000}) {
      const std::vector<float> a = random_floats(n, 1);
      const std::vector<float> b = random_floats(n, 2);
      std::vector<float> sum(n);
      std::vector<float> product(n);
      add(a.data(), b.data(), static_cast<int64_t>(n), sum.data(), pool);
      mul(a.data(), b.data(), static_cast<int64_t>(n), product.data(), pool);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(sum[i], a[i] + b[i]);
        ASSERT_EQ(product[i], a[i] * b[i]);
      }
    }
  });
}

TEST(KvStore, RoundsToNearestEven) {
  base::ThreadPool pool(1);
  // Values around every 16-bit pattern, halves between neighbours among them, NaN and infinities.
  std::vector<float> x;
  for (uint32_t upper = 0; upper < 65536; upper += 3) {
    for (const uint32_t lower : {0x0000u, 0x7FFFu, 0x8000u, 0x8001u, 0x1000u, 0x3000u}) {
      x.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  const auto dim = static_cast<int64_t>(x.size());
  for_each_target([&] {
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      std::vector<uint16_t> keys(x.size());
      std::vector<uint16_t> values(x.size());
      void* key_block = keys.data();
      void* value_block = values.data();
      const KvBlocks cache = {{&key_block, 1}, {&value_block, 1}, 1, 1, dim, dtype};
      kv_store(cache, 0, 1, {x.data(), dim}, {x.data(), dim}, pool);
      ASSERT_EQ(keys, values);
      for (size_t i = 0; i < x.size(); ++i) {
        const uint16_t expected =
            dtype == DType::kF16 ? base::f32_to_f16(x[i]) : base::f32_to_bf16(x[i]);
        if (std::isnan(x[i])) {
          const float back =
              dtype == DType::kF16 ? base::f16_to_f32(keys[i]) : base::bf16_to_f32(keys[i]);
          ASSERT_TRUE(std::isnan(back));
        } else {
          ASSERT_EQ(keys[i], expected) << x[i];
        }
      }
    }
  });
}

}  // namespace
}  // namespace mlxcel::kernels
