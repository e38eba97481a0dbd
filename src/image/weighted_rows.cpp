// Sums are exact in 32 bits: the magnitudes of the weights of one sum add up to less than 1.5,
// times 255, times 2^22 is below 2^31.
#include "image/weighted_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/weighted_rows.cpp"
#include <hwy/foreach_target.h>
// (Highway's header must come after that one.)
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mlxcel::image {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

// One sample; the end of rows that do not fill a vector.
uint8_t weighted_sample(const WeightedRows& rows, size_t i) {
  int32_t sum = kHalf;
  for (int k = 0; k < rows.count; ++k) {
    sum += rows.weights[k] * rows.first[static_cast<size_t>(k) * rows.stride + i];
  }
  sum >>= kWeightBits;
  return static_cast<uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

void add_weighted_rows_impl(const WeightedRows& rows, uint8_t* HWY_RESTRICT out, size_t n) {
  const hn::ScalableTag<int32_t> wide;
  const hn::Rebind<uint8_t, decltype(wide)> narrow;
  const size_t lanes = hn::Lanes(wide);
  const auto half = hn::Set(wide, kHalf);
  size_t i = 0;
  // Three vectors at a time: 48 bytes, the block of the pass along rows, on the widest machines.
  for (; i + 3 * lanes <= n; i += 3 * lanes) {
    auto sum0 = half;
    auto sum1 = half;
    auto sum2 = half;
    const uint8_t* row = rows.first + i;
    for (int k = 0; k < rows.count; ++k, row += rows.stride) {
      const auto weight = hn::Set(wide, rows.weights[k]);
      const auto in0 = hn::PromoteTo(wide, hn::LoadU(narrow, row));
      const auto in1 = hn::PromoteTo(wide, hn::LoadU(narrow, row + lanes));
      const auto in2 = hn::PromoteTo(wide, hn::LoadU(narrow, row + 2 * lanes));
      sum0 = hn::Add(sum0, hn::Mul(in0, weight));
      sum1 = hn::Add(sum1, hn::Mul(in1, weight));
      sum2 = hn::Add(sum2, hn::Mul(in2, weight));
    }
    // Demotion clamps to 0..255.
    hn::StoreU(hn::DemoteTo(narrow, hn::ShiftRight<kWeightBits>(sum0)), narrow, out + i);
    hn::StoreU(hn::DemoteTo(narrow, hn::ShiftRight<kWeightBits>(sum1)), narrow, out + i + lanes);
    hn::StoreU(hn::DemoteTo(narrow, hn::ShiftRight<kWeightBits>(sum2)), narrow,
               out + i + 2 * lanes);
  }
  for (; i < n; ++i) out[i] = weighted_sample(rows, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::image {

HWY_EXPORT(add_weighted_rows_impl);

void add_weighted_rows(const WeightedRows& rows, uint8_t* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(add_weighted_rows_impl)(rows, out, n);
}

}  // namespace mlxcel::image
#endif
