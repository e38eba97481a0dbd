// Turns stretches of a weight row, dense or MLX-affine, into f32.
#if defined(MLXCEL_KERNELS_DEQUANT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_KERNELS_DEQUANT_INL_H_
#undef MLXCEL_KERNELS_DEQUANT_INL_H_
#else
#define MLXCEL_KERNELS_DEQUANT_INL_H_
#endif

#include "kernels/simd-inl.h"
#include "kernels/weight_view.h"
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86_64
#include <immintrin.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE const uint8_t* row_bytes(const WeightView& w, int64_t row) {
  const int64_t stride =
      w.quantized() ? w.in / 8 * w.bits : w.in * (w.dtype == DType::kF32 ? 4 : 2);
  return static_cast<const uint8_t*>(w.data) + row * stride;
}

// Spreads 8 integers of kBits bits, packed in the low bits of `packed`, to one byte each.
template <int kBits>
HWY_INLINE uint64_t spread8(uint64_t packed) {
  constexpr uint64_t kMask = 0x0101010101010101ULL * ((1u << kBits) - 1);
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86_64
  return _pdep_u64(packed, kMask);
#else
  // Halve the distance to the final place three times: groups of 4, of 2, of 1.
  constexpr uint64_t kFour = (1ULL << (4 * kBits)) - 1;
  constexpr uint64_t kTwo = (1ULL << (2 * kBits)) - 1;
  uint64_t v = (packed & kFour) | ((packed >> (4 * kBits)) << 32);
  v = (v & (kTwo | (kTwo << 32))) | (((v >> (2 * kBits)) & (kTwo | (kTwo << 32))) << 16);
  return (v & (kMask & 0x00FF00FF00FF00FFULL)) |
         (((v >> kBits) & (kMask & 0x00FF00FF00FF00FFULL)) << 8);
#endif
}

// The kBits bytes at p as an integer. Loads of whole words, combined in registers: a copy into a
// wider variable would be stored in parts and then wait for the parts when it is read.
template <int kBits>
HWY_INLINE uint64_t load_packed(const uint8_t* p) {
  const auto half = [](const uint8_t* at) HWY_ATTR {
    uint16_t value;
    std::memcpy(&value, at, 2);
    return static_cast<uint64_t>(value);
  };
  const auto word = [](const uint8_t* at) HWY_ATTR {
    uint32_t value;
    std::memcpy(&value, at, 4);
    return static_cast<uint64_t>(value);
  };
  if constexpr (kBits == 2) return half(p);
  if constexpr (kBits == 3) return half(p) | static_cast<uint64_t>(p[2]) << 16;
  if constexpr (kBits == 4) return word(p);
  if constexpr (kBits == 5) return word(p) | static_cast<uint64_t>(p[4]) << 32;
  return word(p) | half(p + 4) << 32;
}

// `count` (a multiple of 8) integers of kBits bits from src, one byte each, `offset` added to each.
template <int kBits>
HWY_INLINE void expand_bytes(const uint8_t* src, int64_t count, uint8_t offset, uint8_t* dst) {
  const uint64_t offsets = 0x0101010101010101ULL * offset;
  for (int64_t i = 0; i < count; i += 8) {
    const uint64_t packed = load_packed<kBits>(src + i / 8 * kBits);
    const uint64_t bytes = spread8<kBits>(packed) + offsets;
    std::memcpy(dst + i, &bytes, 8);
  }
}

HWY_INLINE void expand_bytes(int bits, const uint8_t* src, int64_t count, uint8_t offset,
                             uint8_t* dst) {
  switch (bits) {
    case 2:
      return expand_bytes<2>(src, count, offset, dst);
    case 3:
      return expand_bytes<3>(src, count, offset, dst);
    case 4:
      return expand_bytes<4>(src, count, offset, dst);
    case 5:
      return expand_bytes<5>(src, count, offset, dst);
    default:
      return expand_bytes<6>(src, count, offset, dst);
  }
}

// kLanes unsigned bytes as f32.
HWY_INLINE VF bytes_to_f32(const uint8_t* p) {
  const hn::Rebind<uint8_t, DF> db;
  const DI di;
  return hn::ConvertTo(DF(), hn::PromoteTo(di, hn::LoadU(db, p)));
}

HWY_INLINE float load_parameter(DType type, const void* base, int64_t index) {
  const auto* p = static_cast<const uint8_t*>(base);
  if (type == DType::kF32) return load_scalar<DType::kF32>(p + index * 4);
  if (type == DType::kBF16) return load_scalar<DType::kBF16>(p + index * 2);
  return load_scalar<DType::kF16>(p + index * 2);
}

// out[0, count) = W[row, begin ... begin + count). For a quantised matrix `begin` and `count` are
// multiples of the group size.
HWY_INLINE void dequantize_slice(const WeightView& w, int64_t row, int64_t begin, int64_t count,
                                 float* out) {
  const uint8_t* bytes = row_bytes(w, row);
  if (!w.quantized()) {
    return widen(w.dtype, bytes + begin * (w.dtype == DType::kF32 ? 4 : 2), count, out);
  }
  const DF d;
  HWY_ALIGN uint8_t expanded[128];
  const int64_t groups = w.in / w.group_size;
  for (int64_t i = 0; i < count; i += w.group_size) {
    const int64_t at = begin + i;
    const int64_t group = row * groups + at / w.group_size;
    const uint8_t* q = bytes + at / 8 * w.bits;
    if (w.bits != 8) {
      expand_bytes(w.bits, q, w.group_size, 0, expanded);
      q = expanded;
    }
    const VF scale = hn::Set(d, load_parameter(w.dtype, w.scales, group));
    const VF bias = hn::Set(d, load_parameter(w.dtype, w.biases, group));
    for (int64_t j = 0; j < w.group_size; j += kLanes) {
      hn::StoreU(hn::MulAdd(scale, bytes_to_f32(q + j), bias), d, out + i + j);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#endif
