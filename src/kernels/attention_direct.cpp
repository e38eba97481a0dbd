// Attention of a few queries, as in decoding: each key and value is read once, straight from the
// cache.
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

// Keys whose values are summed at one time: few enough to stay in the first-level cache.
constexpr int64_t kRun = 64;
// Bytes fetched ahead of their use.
constexpr int64_t kAhead = 4096;

// A stretch of keys, or values, that lie one after the other.
struct Run {
  const uint8_t* data;
  int64_t stride;
  int64_t count;
};

// visit(run, index of its first row counted from `begin`) for all of [begin, end).
template <typename Visit>
HWY_INLINE void for_runs(const HeadRows& rows, int64_t begin, int64_t end, const Visit& visit) {
  for (int64_t t = begin; t < end;) {
    const int64_t in_block = rows.block_rows - t % rows.block_rows;
    const int64_t count = std::min({in_block, end - t, kRun});
    visit(Run{rows.row(t), rows.stride, count}, t - begin);
    t += count;
  }
}

// The first `count` < kLanes elements at p, then zeros.
template <DType kType>
HWY_INLINE VF load_partial(const uint8_t* p, int64_t count) {
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = load_scalar<kType>(p + i * kTypeBytes<kType>);
  return hn::Load(DF(), lanes);
}

// scores[r * 4 + k] = q[r] . keys[k]. q rows are padded with zeros to whole vectors.
template <DType kType, int kRows>
HWY_INLINE void score_four(const uint8_t* const* keys, int64_t dim, const float* q,
                           int64_t q_stride, float* scores) {
  const DF d;
  VF acc[kRows][4];
  for (int r = 0; r < kRows; ++r) {
    for (int k = 0; k < 4; ++k) acc[r][k] = hn::Zero(d);
  }
  int64_t c = 0;
  const auto step = [&](const VF(&kv)[4]) HWY_ATTR {
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
    for (int k = 0; k < 4; ++k)
      kv[k] = load_partial<kType>(keys[k] + c * kTypeBytes<kType>, dim - c);
    step(kv);
  }
  for (int r = 0; r < kRows; ++r) {
    sum_lanes4(acc[r][0], acc[r][1], acc[r][2], acc[r][3], scores + r * 4);
  }
}

template <DType kType>
HWY_NOINLINE void score_run(const Run& run, int64_t queries, int64_t dim, const float* q,
                            int64_t q_stride, float* scores) {
  for (int64_t j = 0; j < run.count; j += 4) {
    const uint8_t* keys[4];
    for (int64_t k = 0; k < 4; ++k) {
      keys[k] = run.data + std::min(j + k, run.count - 1) * run.stride;
      for (int64_t b = 0; b < dim * kTypeBytes<kType>; b += 64) prefetch(keys[k] + b + kAhead);
    }
    HWY_ALIGN float four[kDirectQueries * 4];
    int64_t r = 0;
    for (; r + 4 <= queries; r += 4)
      score_four<kType, 4>(keys, dim, q + r * q_stride, q_stride, four + r * 4);
    if (r + 2 <= queries) {
      score_four<kType, 2>(keys, dim, q + r * q_stride, q_stride, four + r * 4);
      r += 2;
    }
    if (r < queries) score_four<kType, 1>(keys, dim, q + r * q_stride, q_stride, four + r * 4);
    const auto bytes = static_cast<size_t>(std::min<int64_t>(4, run.count - j)) * sizeof(float);
    for (r = 0; r < queries; ++r) std::memcpy(scores + r * kDirectKeys + j, four + r * 4, bytes);
  }
}

// Scores of one query become weights; maximum and sum go to partial[0], partial[1].
HWY_INLINE void weigh(float* scores, int64_t count, int64_t visible, float* partial) {
  const DF d;
  const float lowest = -std::numeric_limits<float>::infinity();
  // Scratch runs past `count` up to whole vectors.
  const int64_t padded = round_up(count, kLanes);
  for (int64_t j = std::max<int64_t>(0, std::min(count, visible)); j < padded; ++j)
    scores[j] = lowest;
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

// out[r][c ... c + kVectors * kLanes) += sum over the run of weight times value. With kPartial, the
// one vector is cut off at dim.
template <DType kType, int kRows, int kVectors, bool kPartial>
HWY_INLINE void sum_values(const Run& run, int64_t dim, const float* weights, int64_t c, float* out,
                           int64_t out_stride) {
  const DF d;
  VF acc[kRows][kVectors];
  HWY_ALIGN float cut[kLanes] = {};
  for (int r = 0; r < kRows; ++r) {
    const float* source = out + r * out_stride + c;
    if constexpr (kPartial) {
      std::memcpy(cut, source, static_cast<size_t>(dim - c) * sizeof(float));
      acc[r][0] = hn::Load(d, cut);
    } else {
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::LoadU(d, source + v * kLanes);
    }
  }
  const uint8_t* row = run.data + c * kTypeBytes<kType>;
  for (int64_t j = 0; j < run.count; ++j, row += run.stride) {
    for (int64_t b = 0; b < kVectors * kLanes * kTypeBytes<kType>; b += 64)
      prefetch(row + b + kAhead);
    VF values[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      values[v] = kPartial ? load_partial<kType>(row, dim - c)
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
      hn::Store(acc[r][0], d, cut);
      std::memcpy(target, cut, static_cast<size_t>(dim - c) * sizeof(float));
    } else {
      for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[r][v], d, target + v * kLanes);
    }
  }
}

// Vectors of one value row taken together: a whole row of 128 where registers allow, so that the
// cache is read as one stream.
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kValueVectors = 8;
#else
constexpr int kValueVectors = 4;
#endif

template <DType kType, int kRows>
HWY_NOINLINE void sum_run(const Run& run, int64_t dim, const float* weights, float* out,
                          int64_t out_stride) {
  int64_t c = 0;
  for (; c + kValueVectors * kLanes <= dim; c += kValueVectors * kLanes) {
    sum_values<kType, kRows, kValueVectors, false>(run, dim, weights, c, out, out_stride);
  }
  for (; c + 2 * kLanes <= dim; c += 2 * kLanes) {
    sum_values<kType, kRows, 2, false>(run, dim, weights, c, out, out_stride);
  }
  for (; c + kLanes <= dim; c += kLanes) {
    sum_values<kType, kRows, 1, false>(run, dim, weights, c, out, out_stride);
  }
  if (c < dim) sum_values<kType, kRows, 1, true>(run, dim, weights, c, out, out_stride);
}

template <DType kType>
HWY_INLINE void direct(const DirectAttention& work) {
  const int64_t q_stride = round_up(work.dim, kLanes);
  float* q =
      scratch_floats(Slot::kRow, static_cast<size_t>(work.queries * (q_stride + kDirectKeys)));
  float* scores = q + work.queries * q_stride;
  for (int64_t r = 0; r < work.queries; ++r) {
    for (int64_t c = 0; c < q_stride; ++c) {
      q[r * q_stride + c] = c < work.dim ? work.q[r][c] * work.scale : 0.0f;
    }
  }
  for_runs(work.key_rows, work.begin, work.end, [&](const Run& run, int64_t at) HWY_ATTR {
    score_run<kType>(run, work.queries, work.dim, q, q_stride, scores + at);
  });
  const int64_t stride = work.dim + 2;
  for (int64_t r = 0; r < work.queries; ++r) {
    weigh(scores + r * kDirectKeys, work.end - work.begin, work.visible[r] - work.begin,
          work.partial + r * stride);
  }
  float* out = work.partial + 2;
  for (int64_t r = 0; r < work.queries; ++r) std::fill_n(out + r * stride, work.dim, 0.0f);
  for_runs(work.value_rows, work.begin, work.end, [&](const Run& run, int64_t at) HWY_ATTR {
    int64_t r = 0;
    for (; r + 2 <= work.queries; r += 2) {
      sum_run<kType, 2>(run, work.dim, scores + r * kDirectKeys + at, out + r * stride, stride);
    }
    if (r < work.queries) {
      sum_run<kType, 1>(run, work.dim, scores + r * kDirectKeys + at, out + r * stride, stride);
    }
  });
}

void Direct(const DirectAttention& work) {
  switch (work.key_rows.type) {
    case DType::kF32:
      return direct<DType::kF32>(work);
    case DType::kF16:
      return direct<DType::kF16>(work);
    default:
      return direct<DType::kBF16>(work);
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
      hn::StoreU(hn::MulAdd(hn::LoadU(d, part + 2 + c), factor_v, hn::LoadU(d, out + c)), d,
                 out + c);
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
