// RMS and layer normalisation of rows.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/internal.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// sum_i (x[i] - shift)^2, or of x[i] - shift.
template <bool kSquares>
HWY_INLINE float sum_of(const float* x, int64_t dim, float shift) {
  const DF d;
  const VF shift_v = hn::Set(d, shift);
  VF sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  const auto add_to = [&](VF& sum, const float* p) HWY_ATTR {
    const VF v = hn::Sub(hn::LoadU(d, p), shift_v);
    sum = kSquares ? hn::MulAdd(v, v, sum) : hn::Add(sum, v);
  };
  int64_t i = 0;
  for (; i + 4 * kLanes <= dim; i += 4 * kLanes) {
    for (int u = 0; u < 4; ++u) add_to(sums[u], x + i + u * kLanes);
  }
  for (; i + kLanes <= dim; i += kLanes) add_to(sums[0], x + i);
  float rest = 0;
  for (; i < dim; ++i) rest += kSquares ? (x[i] - shift) * (x[i] - shift) : x[i] - shift;
  return sum_lanes(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))) + rest;
}

void RmsRows(const float* x, int64_t rows, int64_t dim, const float* weight, float eps, float* y) {
  const DF d;
  for (int64_t r = 0; r < rows; ++r, x += dim, y += dim) {
    const float mean = sum_of<true>(x, dim, 0) / static_cast<float>(dim);
    const float scale = 1.0f / std::sqrt(mean + eps);
    const VF scale_v = hn::Set(d, scale);
    int64_t i = 0;
    for (; i + kLanes <= dim; i += kLanes) {
      const VF v = hn::Mul(hn::LoadU(d, x + i), scale_v);
      hn::StoreU(hn::Mul(v, hn::LoadU(d, weight + i)), d, y + i);
    }
    for (; i < dim; ++i) y[i] = x[i] * scale * weight[i];
  }
}

void LayerRows(const float* x, int64_t rows, int64_t dim, const float* weight, const float* bias,
               float eps, float* y) {
  const DF d;
  for (int64_t r = 0; r < rows; ++r, x += dim, y += dim) {
    const float mean = sum_of<false>(x, dim, 0) / static_cast<float>(dim);
    const float variance = sum_of<true>(x, dim, mean) / static_cast<float>(dim);
    const float scale = 1.0f / std::sqrt(variance + eps);
    const VF mean_v = hn::Set(d, mean);
    const VF scale_v = hn::Set(d, scale);
    int64_t i = 0;
    for (; i + kLanes <= dim; i += kLanes) {
      const VF v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), mean_v), scale_v);
      VF out = weight == nullptr ? v : hn::Mul(v, hn::LoadU(d, weight + i));
      if (bias != nullptr) out = hn::Add(out, hn::LoadU(d, bias + i));
      hn::StoreU(out, d, y + i);
    }
    for (; i < dim; ++i) {
      const float v = (x[i] - mean) * scale;
      y[i] = v * (weight == nullptr ? 1.0f : weight[i]) + (bias == nullptr ? 0.0f : bias[i]);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(RmsRows);
HWY_EXPORT(LayerRows);

void rms_norm(const float* x, int64_t rows, int64_t dim, const float* weight, float eps, float* y,
              base::ThreadPool& pool) {
  for_row_tasks(rows, dim, pool, [&](int64_t row, int64_t count) {
    HWY_DYNAMIC_DISPATCH(RmsRows)(x + row * dim, count, dim, weight, eps, y + row * dim);
  });
}

void layer_norm(const float* x, int64_t rows, int64_t dim, const float* weight, const float* bias,
                float eps, float* y, base::ThreadPool& pool) {
  for_row_tasks(rows, dim, pool, [&](int64_t row, int64_t count) {
    HWY_DYNAMIC_DISPATCH(LayerRows)(x + row * dim, count, dim, weight, bias, eps, y + row * dim);
  });
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
