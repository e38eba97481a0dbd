// Attention with queries in vector lanes. Scores are kept transposed, [key, query], so that maxima and
// sums over keys are elementwise, keys and values are read as they lie (broadcast element by element),
// and both products are the register tile of the linear layers. Softmax is kept online (Milakov and
// Gimelshein 2018; Dao et al. 2022): memory does not grow with the number of keys.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_lanes.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <limits>

#include "kernels/attention_internal.h"
#include "kernels/internal.h"
#include "kernels/math-inl.h"
#include "kernels/microkernel-inl.h"
#include "kernels/simd-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kKeyTile = 64;

HWY_INLINE void load_rows(const HeadRows& rows, int64_t first, int64_t count, int64_t dim, float* out) {
  for (int64_t i = 0; i < count; ++i) widen(rows.type, rows.row(first + i), dim, out + i * dim);
}

// Scores of keys first + j that a query may not see become -infinity.
HWY_INLINE void mask_scores(const LaneAttention& work, int64_t first, int64_t count, float* scores) {
  for (int64_t q = 0; q < work.queries; ++q) {
    for (int64_t j = std::max<int64_t>(0, work.visible[q] - first); j < count; ++j) {
      scores[j * kLaneQueries + q] = -std::numeric_limits<float>::infinity();
    }
  }
}

// One vector of queries: scores become weights; returns the factor for what was summed before.
HWY_INLINE VF softmax_step(float* scores, int64_t count, float* maxima, float* sums) {
  const DF d;
  const VF lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const VF old = hn::Load(d, maxima);
  VF top[2] = {old, lowest};
  const auto update = [](VF v, VF best) HWY_ATTR { return hn::IfThenElse(hn::Gt(v, best), v, best); };
  int64_t j = 0;
  for (; j + 2 <= count; j += 2) {
    top[0] = update(hn::Load(d, scores + j * kLaneQueries), top[0]);
    top[1] = update(hn::Load(d, scores + (j + 1) * kLaneQueries), top[1]);
  }
  if (j < count) top[0] = update(hn::Load(d, scores + j * kLaneQueries), top[0]);
  const VF maximum = update(top[0], top[1]);
  // Where no key was visible yet, any finite shift gives weights of 0.
  const VF shift = hn::IfThenElse(hn::Eq(maximum, lowest), hn::Zero(d), maximum);
  VF sum[2] = {hn::Zero(d), hn::Zero(d)};
  for (j = 0; j < count; ++j) {
    float* p = scores + j * kLaneQueries;
    const VF weight = exp_softmax(hn::Sub(hn::Load(d, p), shift));
    hn::Store(weight, d, p);
    sum[j % 2] = hn::Add(sum[j % 2], weight);
  }
  const VF factor = exp_softmax(hn::Sub(old, shift));
  hn::Store(hn::MulAdd(hn::Load(d, sums), factor, hn::Add(sum[0], sum[1])), d, sums);
  hn::Store(maximum, d, maxima);
  return factor;
}

void Lanes(const LaneAttention& work) {
  const DF d;
  const int64_t dim = work.dim;
  const int64_t vectors = ceil_div(work.queries, kLanes);
  const int64_t width = vectors * kLanes;
  float* memory = scratch_floats(
      Slot::kPanel, static_cast<size_t>(2 * dim * kLaneQueries + kKeyTile * (kLaneQueries + 2 * dim)));
  float* q_t = memory;  // [dim, query]
  float* out_t = q_t + dim * kLaneQueries;
  float* scores = out_t + dim * kLaneQueries;  // [key, query]
  float* keys = scores + kKeyTile * kLaneQueries;
  float* values = keys + kKeyTile * dim;
  HWY_ALIGN float maxima[kLaneQueries];
  HWY_ALIGN float sums[kLaneQueries];

  for (int64_t i = 0; i < width; ++i) {
    const bool used = i < work.queries;
    for (int64_t c = 0; c < dim; ++c) {
      q_t[c * kLaneQueries + i] = used ? work.q[i][c] * work.scale : 0.0f;
    }
  }
  for (int64_t c = 0; c < dim; ++c) std::fill_n(out_t + c * kLaneQueries, width, 0.0f);
  std::fill_n(maxima, kLaneQueries, -std::numeric_limits<float>::infinity());
  std::fill_n(sums, kLaneQueries, 0.0f);
  const int64_t all_visible = *std::min_element(work.visible, work.visible + work.queries);

  for (int64_t first = 0; first < work.keys; first += kKeyTile) {
    const int64_t count = std::min(kKeyTile, work.keys - first);
    load_rows(work.key_rows, first, count, dim, keys);
    load_rows(work.value_rows, first, count, dim, values);
    micro_matmul(count, vectors, {keys, dim, 1}, q_t, kLaneQueries, scores, kLaneQueries, dim, false);
    if (first + count > all_visible) mask_scores(work, first, count, scores);
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t at = v * kLanes;
      const VF factor = softmax_step(scores + at, count, maxima + at, sums + at);
      if (first == 0 || hn::AllTrue(d, hn::Eq(factor, hn::Set(d, 1.0f)))) continue;
      for (int64_t c = 0; c < dim; ++c) {
        float* p = out_t + c * kLaneQueries + at;
        hn::Store(hn::Mul(hn::Load(d, p), factor), d, p);
      }
    }
    micro_matmul(dim, vectors, {values, 1, dim}, scores, kLaneQueries, out_t, kLaneQueries, count, true);
  }
  for (int64_t i = 0; i < work.queries; ++i) {
    const float factor = 1.0f / sums[i];
    for (int64_t c = 0; c < dim; ++c) work.out[i][c] = out_t[c * kLaneQueries + i] * factor;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(Lanes);

void lane_attention(const LaneAttention& work) { HWY_DYNAMIC_DISPATCH(Lanes)(work); }

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
