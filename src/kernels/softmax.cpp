// Softmax over rows, and the index of the largest value.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include <hwy/foreach_target.h>

#include <limits>

#include "kernels/internal.h"
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// The largest number of x; NaN is passed over. -infinity when there is none.
HWY_INLINE float largest(const float* x, int64_t count) {
  const DF d;
  const float lowest = -std::numeric_limits<float>::infinity();
  VF best[4] = {hn::Set(d, lowest), hn::Set(d, lowest), hn::Set(d, lowest), hn::Set(d, lowest)};
  // Not hn::Max: what it does with NaN differs between targets.
  const auto update = [](VF v, VF old) HWY_ATTR { return hn::IfThenElse(hn::Gt(v, old), v, old); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    for (int u = 0; u < 4; ++u) best[u] = update(hn::LoadU(d, x + i + u * kLanes), best[u]);
  }
  for (; i + kLanes <= count; i += kLanes) best[0] = update(hn::LoadU(d, x + i), best[0]);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(update(update(best[0], best[1]), update(best[2], best[3])), d, lanes);
  float result = lowest;
  for (const float lane : lanes) result = lane > result ? lane : result;
  for (; i < count; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

void SoftmaxRows(const float* x, int64_t rows, int64_t width, float* y) {
  const DF d;
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const float shift = largest(x, width);
    const VF shift_v = hn::Set(d, shift);
    VF sum = hn::Zero(d);
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      const VF e = exp_f32(hn::Sub(hn::LoadU(d, x + i), shift_v));
      sum = hn::Add(sum, e);
      hn::StoreU(e, d, y + i);
    }
    float total = 0;
    if (i < width) {
      HWY_ALIGN float rest[kLanes] = {};
      std::memcpy(rest, x + i, static_cast<size_t>(width - i) * sizeof(float));
      hn::Store(exp_f32(hn::Sub(hn::Load(d, rest), shift_v)), d, rest);
      for (int64_t j = i; j < width; ++j) total += y[j] = rest[j - i];
    }
    total += sum_lanes(sum);
    const float scale = 1.0f / total;
    const VF scale_v = hn::Set(d, scale);
    for (i = 0; i + kLanes <= width; i += kLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, y + i), scale_v), d, y + i);
    }
    for (; i < width; ++i) y[i] *= scale;
  }
}

int64_t ArgMax(const float* x, int64_t count) {
  const DF d;
  const float best = largest(x, count);
  const VF best_v = hn::Set(d, best);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const intptr_t lane = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, x + i), best_v));
    if (lane >= 0) return i + lane;
  }
  for (; i < count; ++i) {
    if (x[i] == best) return i;
  }
  return 0;  // NaN alone
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(SoftmaxRows);
HWY_EXPORT(ArgMax);

void softmax(const float* x, int64_t rows, int64_t width, float* y, base::ThreadPool& pool) {
  for_row_tasks(rows, width, pool, [&](int64_t row, int64_t count) {
    HWY_DYNAMIC_DISPATCH(SoftmaxRows)(x + row * width, count, width, y + row * width);
  });
}

int64_t argmax(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(ArgMax)(x, count); }

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
