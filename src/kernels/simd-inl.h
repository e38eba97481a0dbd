// Vector helpers that every kernel uses, compiled once for each target: loads that widen any
// storage type to f32, stores that narrow, sums over lanes. Per-target guard as Highway prescribes.
#if defined(MLXCEL_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_KERNELS_SIMD_INL_H_
#undef MLXCEL_KERNELS_SIMD_INL_H_
#else
#define MLXCEL_KERNELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "base/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
static_assert(kLanes == 4 || kLanes == 8 || kLanes == 16);

using base::DType;

// One element of storage type `kType`, from any address.
template <DType kType>
HWY_INLINE float load_scalar(const uint8_t* p) {
  if constexpr (kType == DType::kF32) {
    float value;
    std::memcpy(&value, p, sizeof(value));
    return value;
  } else {
    uint16_t bits;
    std::memcpy(&bits, p, sizeof(bits));
    if constexpr (kType == DType::kBF16) return base::bf16_to_f32(bits);
    return base::f16_to_f32(bits);
  }
}

template <DType kType>
constexpr int64_t kTypeBytes = kType == DType::kF32 ? 4 : 2;

// Bits of f16 as f32.
HWY_INLINE VF widen_f16(hn::Vec<hn::Rebind<uint16_t, DF>> bits) {
  const DF d;
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
  const hn::Rebind<hwy::float16_t, DF> dh;
  return hn::PromoteTo(d, hn::BitCast(dh, bits));
#else
  // Highway's emulation knows no infinity and no NaN. Here exponent and mantissa move into place, a
  // product with 2^112 corrects the bias and normalises denormals, and the top exponent is set
  // apart.
  const DU du;
  const VU wide = hn::PromoteTo(du, bits);
  const VU magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(du, 0x7FFF)));
  const VU sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(du, 0x8000)));
  const VF finite = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 5.192296858534828e33f));
  const VU special = hn::Or(magnitude, hn::Set(du, 0x7F800000));
  const auto is_finite = hn::Lt(hn::BitCast(DI(), magnitude), hn::Set(DI(), 0x0F800000));
  const VU chosen = hn::IfThenElse(hn::RebindMask(du, is_finite), hn::BitCast(du, finite), special);
  return hn::BitCast(d, hn::Or(chosen, sign));
#endif
}

// kLanes elements of storage type `kType` from any address, widened.
template <DType kType>
HWY_INLINE VF load_wide(const uint8_t* p) {
  const DF d;
  if constexpr (kType == DType::kF32) {
    return hn::LoadU(d, reinterpret_cast<const float*>(p));
  } else if constexpr (kType == DType::kBF16) {
    const hn::Rebind<uint16_t, DF> dh;
    const DU du;
    const auto bits = hn::LoadU(dh, reinterpret_cast<const uint16_t*>(p));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
  } else {
    const hn::Rebind<uint16_t, DF> dh;
    return widen_f16(hn::LoadU(dh, reinterpret_cast<const uint16_t*>(p)));
  }
}

// out[0, count) = the elements at p, widened. Reads nothing past them.
template <DType kType>
HWY_INLINE void widen(const uint8_t* p, int64_t count, float* out) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(load_wide<kType>(p + i * kTypeBytes<kType>), d, out + i);
  }
  for (; i < count; ++i) out[i] = load_scalar<kType>(p + i * kTypeBytes<kType>);
}

HWY_INLINE void widen(DType type, const uint8_t* p, int64_t count, float* out) {
  if (type == DType::kF32) return widen<DType::kF32>(p, count, out);
  if (type == DType::kBF16) return widen<DType::kBF16>(p, count, out);
  return widen<DType::kF16>(p, count, out);
}

HWY_INLINE float sum_lanes(VF v) { return hn::GetLane(hn::SumOfLanes(DF(), v)); }

// Stores the lowest four lanes.
template <class V>
HWY_INLINE void store_four(V v, float* out) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) > 4) {
    store_four(hn::LowerHalf(v), out);
  } else {
    hn::StoreU(v, d, out);
  }
}

// Sums over the lanes of four vectors at once, in the same order for each. Two transposing steps
// inside each 128-bit block leave partial sums of (a, b, c, e) in every block; then blocks are
// added.
HWY_INLINE void sum_lanes4(VF a, VF b, VF c, VF e, float* HWY_RESTRICT out) {
  const DF d;
  const hn::Repartition<double, DF> dd;
  const VF ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const VF ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto ab2 = hn::BitCast(dd, ab);
  const auto ce2 = hn::BitCast(dd, ce);
  VF sum = hn::Add(hn::BitCast(d, hn::InterleaveLower(dd, ab2, ce2)),
                   hn::BitCast(d, hn::InterleaveUpper(dd, ab2, ce2)));
  if constexpr (kLanes >= 8) sum = hn::Add(sum, hn::ConcatLowerUpper(d, sum, sum));
  if constexpr (kLanes >= 16) sum = hn::Add(sum, hn::SwapAdjacentBlocks(sum));
  store_four(sum, out);
}

// Fetches the cache line at p some time before it is needed; never faults.
HWY_INLINE void prefetch(const uint8_t* p) { __builtin_prefetch(p, 0, 3); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#endif
