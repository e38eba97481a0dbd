// Rotary position embedding, in place.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope.cpp"
#include <hwy/foreach_target.h>

#include "kernels/internal.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE void split_half(float* x, int64_t half, const float* cos, const float* sin) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    const VF a = hn::LoadU(d, x + i);
    const VF b = hn::LoadU(d, x + half + i);
    const VF c = hn::LoadU(d, cos + i);
    const VF s = hn::LoadU(d, sin + i);
    hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, x + i);
    hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), d, x + half + i);
  }
  for (; i < half; ++i) {
    const float a = x[i];
    const float b = x[half + i];
    x[i] = a * cos[i] - b * sin[i];
    x[half + i] = b * cos[i] + a * sin[i];
  }
}

// Pairs (2i, 2i + 1); the tables have an entry a lane.
HWY_INLINE void lanes_turn(float* x, int64_t dim, const float* cos, const float* sin) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    const VF v = hn::LoadU(d, x + i);
    const VF swapped = hn::Reverse2(d, v);
    const VF rotated = hn::OddEven(swapped, hn::Neg(swapped));  // (-b, a)
    const VF out = hn::MulAdd(rotated, hn::LoadU(d, sin + i), hn::Mul(v, hn::LoadU(d, cos + i)));
    hn::StoreU(out, d, x + i);
  }
  for (; i + 1 < dim; i += 2) {
    const float a = x[i];
    const float b = x[i + 1];
    x[i] = a * cos[i] - b * sin[i];
    x[i + 1] = b * cos[i + 1] + a * sin[i + 1];
  }
}

void RopeRows(float* x, int64_t rows, int64_t heads, int64_t dim, int64_t row_stride,
              const float* cos, const float* sin, RopeLayout layout) {
  const int64_t width = layout == RopeLayout::kInterleavedLanes ? dim : dim / 2;
  // One angle a pair becomes one a lane.
  constexpr int64_t kMaxWide = 1024;
  HWY_ALIGN float wide_cos[kMaxWide];
  HWY_ALIGN float wide_sin[kMaxWide];
  for (int64_t r = 0; r < rows; ++r, x += row_stride, cos += width, sin += width) {
    const float* row_cos = cos;
    const float* row_sin = sin;
    const bool widen_pairs = layout == RopeLayout::kAdjacent && dim <= kMaxWide;
    if (widen_pairs) {
      for (int64_t i = 0; i < width; ++i) {
        wide_cos[2 * i] = wide_cos[2 * i + 1] = cos[i];
        wide_sin[2 * i] = wide_sin[2 * i + 1] = sin[i];
      }
      row_cos = wide_cos;
      row_sin = wide_sin;
    }
    for (int64_t h = 0; h < heads; ++h) {
      float* head = x + h * dim;
      if (layout == RopeLayout::kSplitHalf) {
        split_half(head, dim / 2, row_cos, row_sin);
      } else if (layout == RopeLayout::kInterleavedLanes || widen_pairs) {
        lanes_turn(head, dim / 2 * 2, row_cos, row_sin);
      } else {
        for (int64_t i = 0; i < width; ++i) {
          const float a = head[2 * i];
          const float b = head[2 * i + 1];
          head[2 * i] = a * cos[i] - b * sin[i];
          head[2 * i + 1] = b * cos[i] + a * sin[i];
        }
      }
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(RopeRows);

void rope(float* x, int64_t rows, int64_t heads, int64_t dim, int64_t row_stride, const float* cos,
          const float* sin, RopeLayout layout, base::ThreadPool& pool) {
  const int64_t width = layout == RopeLayout::kInterleavedLanes ? dim : dim / 2;
  for_row_tasks(rows, heads * dim, pool, [&](int64_t row, int64_t count) {
    HWY_DYNAMIC_DISPATCH(RopeRows)
    (x + row * row_stride, count, heads, dim, row_stride, cos + row * width, sin + row * width,
     layout);
  });
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
