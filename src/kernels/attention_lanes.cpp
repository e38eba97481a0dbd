// Attention with queries in vector lanes. Scores are kept transposed, [key, query], so that maxima
// and sums over keys are elementwise, keys and values are read as they lie (broadcast element by
// element), and both products are the register tile of the linear layers. Softmax is kept online
// (Milakov and Gimelshein 2018; Dao et al. 2022): memory does not grow with the number of keys.
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
// Queries whose scores are made at one time; several such groups share one load of keys and values.
constexpr int64_t kGroup = 64;
static_assert(kLaneQueries % kGroup == 0);

HWY_INLINE void load_rows(const HeadRows& rows, int64_t first, int64_t count, int64_t dim,
                          float* out) {
  for (int64_t i = 0; i < count; ++i) widen(rows.type, rows.row(first + i), dim, out + i * dim);
}

// Scores of keys first + j that a query may not see become -infinity.
HWY_INLINE void mask_scores(const int64_t* visible, int64_t queries, int64_t first, int64_t count,
                            float* scores) {
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t j = std::max<int64_t>(0, visible[q] - first); j < count; ++j) {
      scores[j * kGroup + q] = -std::numeric_limits<float>::infinity();
    }
  }
}

// One vector of queries: scores become weights; returns the factor for what was summed before.
HWY_INLINE VF softmax_step(float* scores, int64_t count, float* maxima, float* sums) {
  const DF d;
  const VF lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const VF old = hn::Load(d, maxima);
  VF top[2] = {old, lowest};
  const auto update = [](VF v, VF best)
                          HWY_ATTR { return hn::IfThenElse(hn::Gt(v, best), v, best); };
  int64_t j = 0;
  for (; j + 2 <= count; j += 2) {
    top[0] = update(hn::Load(d, scores + j * kGroup), top[0]);
    top[1] = update(hn::Load(d, scores + (j + 1) * kGroup), top[1]);
  }
  if (j < count) top[0] = update(hn::Load(d, scores + j * kGroup), top[0]);
  const VF maximum = update(top[0], top[1]);
  // Where no key was visible yet, any finite shift gives weights of 0.
  const VF shift = hn::IfThenElse(hn::Eq(maximum, lowest), hn::Zero(d), maximum);
  VF sum[2] = {hn::Zero(d), hn::Zero(d)};
  for (j = 0; j < count; ++j) {
    float* p = scores + j * kGroup;
    const VF weight = exp_softmax(hn::Sub(hn::Load(d, p), shift));
    hn::Store(weight, d, p);
    sum[j % 2] = hn::Add(sum[j % 2], weight);
  }
  const VF factor = exp_softmax(hn::Sub(old, shift));
  hn::Store(hn::MulAdd(hn::Load(d, sums), factor, hn::Add(sum[0], sum[1])), d, sums);
  hn::Store(maximum, d, maxima);
  return factor;
}

// The running state of one group.
struct Group {
  float* q;    // [dim, kGroup], scaled
  float* out;  // [dim, kGroup]
  float* maxima;
  float* sums;
  int64_t queries;
  int64_t all_visible;  // keys below are seen by every query of the group,
  int64_t any_visible;  // from here on by none
};

HWY_INLINE void start_group(const LaneAttention& work, int64_t first, Group& group) {
  const int64_t dim = work.dim;
  group.queries = std::min(kGroup, work.queries - first);
  const int64_t* visible = work.visible + first;
  group.all_visible = *std::min_element(visible, visible + group.queries);
  group.any_visible = *std::max_element(visible, visible + group.queries);
  for (int64_t i = 0; i < kGroup; ++i) {
    const float* q = i < group.queries ? work.q[first + i] : nullptr;
    for (int64_t c = 0; c < dim; ++c)
      group.q[c * kGroup + i] = q != nullptr ? q[c] * work.scale : 0.0f;
  }
  std::fill_n(group.out, dim * kGroup, 0.0f);
  std::fill_n(group.maxima, kGroup, -std::numeric_limits<float>::infinity());
  std::fill_n(group.sums, kGroup, 0.0f);
}

// Takes keys first ... first + count - 1 into account.
HWY_INLINE void step_group(const Group& group, const int64_t* visible, const float* keys,
                           const float* values, int64_t dim, int64_t first, int64_t count,
                           float* scores) {
  const DF d;
  const int64_t vectors = ceil_div(group.queries, kLanes);
  micro_matmul(count, vectors, {keys, dim, 1}, group.q, kGroup, scores, kGroup, dim, false);
  if (first + count > group.all_visible) mask_scores(visible, group.queries, first, count, scores);
  for (int64_t v = 0; v < vectors; ++v) {
    const int64_t at = v * kLanes;
    const VF factor = softmax_step(scores + at, count, group.maxima + at, group.sums + at);
    if (first == 0 || hn::AllTrue(d, hn::Eq(factor, hn::Set(d, 1.0f)))) continue;
    for (int64_t c = 0; c < dim; ++c) {
      float* p = group.out + c * kGroup + at;
      hn::Store(hn::Mul(hn::Load(d, p), factor), d, p);
    }
  }
  micro_matmul(dim, vectors, {values, 1, dim}, scores, kGroup, group.out, kGroup, count, true);
}

void Lanes(const LaneAttention& work) {
  const int64_t dim = work.dim;
  const int64_t groups = ceil_div(work.queries, kGroup);
  const int64_t group_floats = 2 * (dim + 1) * kGroup;
  float* memory = scratch_floats(
      Slot::kPanel, static_cast<size_t>(groups * group_floats + kKeyTile * (kGroup + 2 * dim)));
  Group states[kLaneQueries / kGroup];
  for (int64_t g = 0; g < groups; ++g) {
    float* p = memory + g * group_floats;
    states[g] = {p, p + dim * kGroup, p + 2 * dim * kGroup, p + (2 * dim + 1) * kGroup, 0, 0, 0};
    start_group(work, g * kGroup, states[g]);
  }
  float* scores = memory + groups * group_floats;  // [key, query]
  float* keys = scores + kKeyTile * kGroup;
  float* values = keys + kKeyTile * dim;
  for (int64_t first = 0; first < work.keys; first += kKeyTile) {
    const int64_t count = std::min(kKeyTile, work.keys - first);
    load_rows(work.key_rows, first, count, dim, keys);
    load_rows(work.value_rows, first, count, dim, values);
    for (int64_t g = 0; g < groups; ++g) {
      if (first >= states[g].any_visible) continue;
      step_group(states[g], work.visible + g * kGroup, keys, values, dim, first, count, scores);
    }
  }
  for (int64_t i = 0; i < work.queries; ++i) {
    const Group& group = states[i / kGroup];
    const int64_t lane = i % kGroup;
    const float factor = 1.0f / group.sums[lane];
    for (int64_t c = 0; c < dim; ++c) work.out[i][c] = group.out[c * kGroup + lane] * factor;
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
