// Attention of a few queries, as in decoding: each key and value is read once, straight from the cache.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_direct.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention_internal.h"
#include "kernels/internal.h"
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// Rows read ahead of their use.
constexpr int64_t kRowsAhead = 8;

// The first `count` < kLanes elements at p, then zeros.
template <DType kType>
HWY_INLINE VF load_partial(const uint8_t* p, int64_t count) {
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = load_scalar<kType>(p + i * kTypeBytes<kType>);
  return hn::Load(DF(), lanes);
}

// scores[r][0..4) = q[r] . keys[0..4). q rows are padded with zeros to whole vectors.
template <DType kType, int kRows>
HWY_INLINE void score_four(const uint8_t* const* keys, int64_t dim, const float* q, int64_t q_stride,
                           float* scores) {
  const DF d;
  VF acc[kRows][4];
  for (int r = 0; r < kRows; ++r) {
    for (int k = 0; k < 4; ++k) acc[r][k] = hn::Zero(d);
  }
  int64_t c = 0;
  const auto step = [&](const VF (&kv)[4]) HWY_ATTR {
    for (int r = 0; r < kRows; ++r) {
      const VF qv = hn::Load(d, q + r * q_stride + c);
      for (int k = 0; k < 4; ++k) acc[r][k] = hn::MulAdd(qv, kv[k], acc[r][k]);
    }
  };
  for (; c + kLanes <= dim; c += kLanes) {
    VF kv[4];
    for (int k = 0; k < 4; ++k) kv[k] = load_wide<kType>(keys[k] + c * kTypeBytes<kType>);
    step(kv);
  }
  if (c < dim) {
    VF kv[4];
    for (int k = 0; k < 4; ++k) kv[k] = load_partial<kType>(keys[k] + c * kTypeBytes<kType>, dim - c);
    step(kv);
  }
  for (int r = 0; r < kRows; ++r) {
    sum_lanes4(acc[r][0], acc[r][1], acc[r][2], acc[r][3], scores + r * kDirectKeys);
  }
}

template <DType kType>
HWY_NOINLINE void score_all(const DirectAttention& work, const float* q, int64_t q_stride,
                            float* scores) {
  for (int64_t t = work.begin; t < work.end; t += 4) {
    const uint8_t* keys[4];
    for (int64_t k = 0; k < 4; ++k) keys[k] = work.key_rows.row(std::min(t + k, work.end - 1));
    for (int64_t k = 0; k < 4; ++k) {
      const uint8_t* ahead = work.key_rows.row(std::min(t + k + kRowsAhead, work.end - 1));
      for (int64_t b = 0; b < work.dim * kTypeBytes<kType>; b += 64) prefetch(ahead + b);
    }
    float* out = scores + (t - work.begin);
    int64_t r = 0;
    for (; r + 4 <= work.queries; r += 4) {
      score_four<kType, 4>(keys, work.dim, q + r * q_stride, q_stride, out + r * kDirectKeys);
    }
    if (r + 2 <= work.queries) {
      score_four<kType, 2>(keys, work.dim, q + r * q_stride, q_stride, out + r * kDirectKeys);
      r += 2;
    }
    if (r < work.queries) {
      score_four<kType, 1>(keys, work.dim, q + r * q_stride, q_stride, out + r * kDirectKeys);
    }
  }
}

// Scores of one query become weights; maximum and sum go to partial[0], partial[1].
HWY_INLINE void weigh(float* scores, int64_t count, int64_t visible, float* partial) {
  const DF d;
  const float lowest = -std::numeric_limits<float>::infinity();
  // Scratch runs past `count` up to whole vectors.
  const int64_t padded = round_up(count, kLanes);
  for (int64_t j = std::max<int64_t>(0, std::min(count, visible)); j < padded; ++j) scores[j] = lowest;
  VF top = hn::Set(d, lowest);
  for (int64_t j = 0; j < padded; j += kLanes) {
    const VF v = hn::LoadU(d, scores + j);
    top = hn::IfThenElse(hn::Gt(v, top), v, top);
  }
  const float maximum = hn::GetLane(hn::MaxOfLanes(d, top));
  const VF shift = hn::Set(d, maximum == lowest ? 0.0f : maximum);
  VF sum = hn::Zero(d);
  for (int64_t j = 0; j < padded; j += kLanes) {
    const VF weight = exp_softmax(hn::Sub(hn::LoadU(d, scores + j), shift));
    hn::StoreU(weight, d, scores + j);
    sum = hn::Add(sum, weight);
  }
  partial[0] = maximum;
  partial[1] = sum_lanes(sum);
}

// out[r][c ... c + kVectors * kLanes) = sum over keys of weight times value. With kPartial, the one
// vector is cut off at dim.
template <DType kType, int kRows, int kVectors, bool kPartial>
HWY_INLINE void sum_values(const DirectAttention& work, const float* weights, int64_t c, float* out,
                           int64_t out_stride) {
  const DF d;
  VF acc[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
  }
  const int64_t count = work.end - work.begin;
  for (int64_t j = 0; j < count; ++j) {
    const uint8_t* row = work.value_rows.row(work.begin + j) + c * kTypeBytes<kType>;
    const uint8_t* ahead =
        work.value_rows.row(std::min(work.begin + j + kRowsAhead, work.end - 1)) + c * kTypeBytes<kType>;
    for (int64_t b = 0; b < kVectors * kLanes * kTypeBytes<kType>; b += 64) prefetch(ahead + b);
    VF values[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      values[v] = kPartial ? load_partial<kType>(row, work.dim - c)
                           : load_wide<kType>(row + v * kLanes * kTypeBytes<kType>);
    }
    for (int r = 0; r < kRows; ++r) {
      const VF weight = hn::Set(d, weights[r * kDirectKeys + j]);
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(weight, values[v], acc[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* target = out + r * out_stride + c;
    if constexpr (kPartial) {
      HWY_ALIGN float lanes[kLanes];
      hn::Store(acc[r][0], d, lanes);
      std::memcpy(target, lanes, static_cast<size_t>(work.dim - c) * sizeof(float));
    } else {
      for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[r][v], d, target + v * kLanes);
    }
  }
}

template <DType kType, int kRows>
HWY_NOINLINE void sum_all(const DirectAttention& work, const float* weights, float* out,
                          int64_t out_stride) {
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
  constexpr int kVectors = 4;
#else
  constexpr int kVectors = 2;
#endif
  int64_t c = 0;
  for (; c + kVectors * kLanes <= work.dim; c += kVectors * kLanes) {
    sum_values<kType, kRows, kVectors, false>(work, weights, c, out, out_stride);
  }
  for (; c + kLanes <= work.dim; c += kLanes) {
    sum_values<kType, kRows, 1, false>(work, weights, c, out, out_stride);
  }
  if (c < work.dim) sum_values<kType, kRows, 1, true>(work, weights, c, out, out_stride);
}

template <DType kType>
HWY_INLINE void direct(const DirectAttention& work) {
  const int64_t q_stride = round_up(work.dim, kLanes);
  float* q = scratch_floats(Slot::kRow, static_cast<size_t>(work.queries * (q_stride + kDirectKeys)));
  float* scores = q + work.queries * q_stride;
  for (int64_t r = 0; r < work.queries; ++r) {
    for (int64_t c = 0; c < q_stride; ++c) {
      q[r * q_stride + c] = c < work.dim ? work.q[r][c] * work.scale : 0.0f;
    }
  }
  score_all<kType>(work, q, q_stride, scores);
  const int64_t stride = work.dim + 2;
  for (int64_t r = 0; r < work.queries; ++r) {
    weigh(scores + r * kDirectKeys, work.end - work.begin, work.visible[r] - work.begin,
          work.partial + r * stride);
  }
  float* out = work.partial + 2;
  int64_t r = 0;
  for (; r + 4 <= work.queries; r += 4) {
    sum_all<kType, 4>(work, scores + r * kDirectKeys, out + r * stride, stride);
  }
  for (; r + 2 <= work.queries; r += 2) {
    sum_all<kType, 2>(work, scores + r * kDirectKeys, out + r * stride, stride);
  }
  if (r < work.queries) sum_all<kType, 1>(work, scores + r * kDirectKeys, out + r * stride, stride);
}

void Direct(const DirectAttention& work) {
  switch (work.key_rows.type) {
    case DType::kF32: return direct<DType::kF32>(work);
    case DType::kF16: return direct<DType::kF16>(work);
    default: return direct<DType::kBF16>(work);
  }
}

void Merge(const float* partials, int64_t parts, int64_t stride, int64_t dim, float* out) {
  const DF d;
  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t p = 0; p < parts; ++p) maximum = std::max(maximum, partials[p * stride]);
  float sum = 0;
  std::fill_n(out, dim, 0.0f);
  for (int64_t p = 0; p < parts; ++p) {
    const float* part = partials + p * stride;
    if (part[1] == 0) continue;  // no visible key
    const float factor = std::exp(part[0] - maximum);
    sum += part[1] * factor;
    const VF factor_v = hn::Set(d, factor);
    int64_t c = 0;
    for (; c + kLanes <= dim; c += kLanes) {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, part + 2 + c), factor_v, hn::LoadU(d, out + c)), d, out + c);
    }
    for (; c < dim; ++c) out[c] += part[2 + c] * factor;
  }
  const float inverse = 1.0f / sum;
  for (int64_t c = 0; c < dim; ++c) out[c] *= inverse;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(Direct);
HWY_EXPORT(Merge);

void direct_attention(const DirectAttention& work) { HWY_DYNAMIC_DISPATCH(Direct)(work); }

void merge_partials(const float* partials, int64_t parts, int64_t stride, int64_t dim, float* out) {
  HWY_DYNAMIC_DISPATCH(Merge)(partials, parts, stride, dim, out);
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
