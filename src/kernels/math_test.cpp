// exp, erf and tanh against long double over dense ranges, and the activations built on them.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/math_test.cpp"
#include <hwy/foreach_target.h>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// y[i] = f(x[i]) with f by number; count is a multiple of 16.
void Apply(int function, const float* x, size_t count, float* y) {
  const DF d;
  for (size_t i = 0; i < count; i += static_cast<size_t>(kLanes)) {
    const VF v = hn::LoadU(d, x + i);
    VF out = exp_f32(v);
    if (function == 1) out = exp_softmax(v);
    if (function == 2) out = erf_f32(v);
    if (function == 3) out = tanh_f32(v);
    hn::StoreU(out, d, y + i);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <limits>

#include "kernels/test_util.h"

namespace mlxcel::kernels {
namespace {

HWY_EXPORT(Apply);

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> apply(int function, std::vector<float> x) {
  const size_t count = x.size();
  x.resize((count + 15) / 16 * 16, 0.0f);
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(Apply)(function, x.data(), x.size(), y.data());
  y.resize(count);
  return y;
}

// Distance from exact in units of the last place of f32 at `exact`.
double ulps(float y, long double exact) {
  const auto rounded = static_cast<float>(exact);
  if (y == rounded) return 0;
  const float magnitude = std::max(std::abs(rounded), std::numeric_limits<float>::min());
  const float spacing = std::nextafter(magnitude, kInfinity) - magnitude;
  return static_cast<double>(std::abs(static_cast<long double>(y) - exact) / spacing);
}

std::vector<float> dense(float from, float to, size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = from + (to - from) * static_cast<float>(i) / static_cast<float>(count - 1);
  }
  return x;
}

template <typename Reference>
double worst_ulps(int function, const std::vector<float>& x, const Reference& reference) {
  const std::vector<float> y = apply(function, x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], reference(static_cast<long double>(x[i])));
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

const auto exp_l = [](long double x) { return std::exp(x); };
const auto tanh_l = [](long double x) { return std::tanh(x); };

TEST(Math, ExpWithinTwoUlps) {
  test::for_each_target([] {
    EXPECT_LE(worst_ulps(0, dense(-87.0f, 88.7f, 400001), exp_l), 2.0);
    EXPECT_LE(worst_ulps(0, dense(-1.0f, 1.0f, 200001), exp_l), 2.0);
    EXPECT_LE(worst_ulps(0, dense(-104.0f, -87.0f, 100001), exp_l), 2.0);  // denormal results
    const std::vector<float> y =
        apply(0, {0.0f, -0.0f, 88.8f, kInfinity, -104.5f, -kInfinity, kNan, 1e30f, -1e30f, 1e-40f});
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 1.0f);
    EXPECT_EQ(y[2], kInfinity);
    EXPECT_EQ(y[3], kInfinity);
    EXPECT_EQ(y[4], 0.0f);
    EXPECT_EQ(y[5], 0.0f);
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_EQ(y[7], kInfinity);
    EXPECT_EQ(y[8], 0.0f);
    EXPECT_EQ(y[9], 1.0f);
  });
}

TEST(Math, ExpForSoftmax) {
  test::for_each_target([] {
    EXPECT_LE(worst_ulps(1, dense(-86.9f, 0.0f, 400001), exp_l), 2.0);
    const std::vector<float> y = apply(1, {0.0f, -87.5f, -kInfinity, kNan, -1e30f});
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_EQ(y[4], 0.0f);
  });
}

TEST(Math, ErfWithinTenMillionth) {
  test::for_each_target([] {
    for (const std::vector<float>& x : {dense(-6.0f, 6.0f, 600001), dense(-1.01f, 1.01f, 300001)}) {
      const std::vector<float> y = apply(2, x);
      double worst = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        worst = std::max(
            worst, std::abs(y[i] - static_cast<double>(std::erf(static_cast<long double>(x[i])))));
      }
      EXPECT_LE(worst, 1e-7);
    }
    // Near zero the relative error counts.
    EXPECT_LE(worst_ulps(2, dense(1e-6f, 0.9f, 200001), [](long double x) { return std::erf(x); }),
              2.0);
    const std::vector<float> y =
        apply(2, {0.0f, kInfinity, -kInfinity, kNan, 1e30f, -1e30f, 1e-38f});
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[1], 1.0f);
    EXPECT_EQ(y[2], -1.0f);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_EQ(y[4], 1.0f);
    EXPECT_EQ(y[5], -1.0f);
    EXPECT_NEAR(y[6] / 1e-38f, 1.12837917f, 1e-5f);
  });
}

TEST(Math, TanhWithinFourUlps) {
  test::for_each_target([] {
    EXPECT_LE(worst_ulps(3, dense(-12.0f, 12.0f, 600001), tanh_l), 4.0);
    EXPECT_LE(worst_ulps(3, dense(-0.7f, 0.7f, 300001), tanh_l), 4.0);
    const std::vector<float> y = apply(3, {0.0f, kInfinity, -kInfinity, kNan, 1e30f, 1e-30f});
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[1], 1.0f);
    EXPECT_EQ(y[2], -1.0f);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_EQ(y[4], 1.0f);
    EXPECT_EQ(y[5], 1e-30f);
  });
}

TEST(Math, ActivationsInPlaceAndNot) {
  base::ThreadPool pool(2);
  test::for_each_target([&] {
    for (const Activation activation :
         {Activation::kNone, Activation::kGeluErf, Activation::kGeluTanh, Activation::kQuickGelu,
          Activation::kSilu}) {
      for (const size_t count : {1, 7, 16, 33, 200001}) {
        const std::vector<float> x =
            count == 1 ? std::vector<float>{2.0f} : dense(-30.0f, 30.0f, count);
        std::vector<float> y(count, -7.0f);
        activate(activation, x.data(), static_cast<int64_t>(count), y.data(), pool);
        for (size_t i = 0; i < count; ++i) {
          const double expected = test::reference_activation(activation, x[i]);
          ASSERT_NEAR(y[i], expected, 5e-7 * std::max(1.0, std::abs(expected))) << x[i];
        }
        std::vector<float> in_place = x;
        activate(activation, in_place.data(), static_cast<int64_t>(count), in_place.data(), pool);
        ASSERT_EQ(in_place, y);
      }
    }
  });
}

}  // namespace
}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
