// Unpacking of 2- and 4-bit weights in registers, and transposition of 32-bit words.
#if defined(MLXCEL_KERNELS_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_KERNELS_WORDS_INL_H_
#undef MLXCEL_KERNELS_WORDS_INL_H_
#else
#define MLXCEL_KERNELS_WORDS_INL_H_
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// A vector of words, each with 32 / kBits elements; get<k> gives element k of all lanes as f32,
// minus kCentre.
template <int kBits>
struct Words {
  static constexpr int kPerWord = 32 / kBits;
  static constexpr int64_t kBlock = kPerWord * kLanes;  // elements of one vector of words
#if HWY_TARGET <= HWY_AVX3
  static constexpr int kCentre = 1 << (kBits - 1);
#else
  static constexpr int kCentre = 0;
#endif

  // A permute of a 16-entry table uses the low four bits of a lane and ignores the rest, so neither
  // masking nor conversion is needed; for 2 bits the table repeats every four entries.
#if HWY_TARGET <= HWY_AVX3
  __m512 table;
  HWY_INLINE Words() {
    HWY_ALIGN float entries[16];
    for (int i = 0; i < 16; ++i) entries[i] = static_cast<float>(i % (1 << kBits) - kCentre);
    table = _mm512_load_ps(entries);
  }
  template <int kElement>
  HWY_INLINE VF get(VU words) const {
    return VF{_mm512_permutexvar_ps(hn::ShiftRight<kElement * kBits>(words).raw, table)};
  }
#else
  template <int kElement>
  HWY_INLINE VF get(VU words) const {
    const VU q = hn::And(hn::ShiftRight<kElement * kBits>(words), hn::Set(DU(), (1u << kBits) - 1));
    return hn::ConvertTo(DF(), hn::BitCast(DI(), q));
  }
#endif
};

// One vector of 128-bit blocks: block b holds the 16 bytes at rows[first + 4 * b] + offset.
HWY_INLINE VU load_blocks(const uint8_t* const* rows, int64_t first, int64_t offset) {
  const hn::CappedTag<uint32_t, 4> d4;
  const auto block = [&](int64_t b) HWY_ATTR {
    return hn::LoadU(d4, reinterpret_cast<const uint32_t*>(rows[first + 4 * b] + offset));
  };
#if HWY_TARGET <= HWY_AVX3
  const hn::CappedTag<uint32_t, 8> d8;
  return hn::Combine(DU(), hn::Combine(d8, block(3), block(2)),
                     hn::Combine(d8, block(1), block(0)));
#elif HWY_TARGET == HWY_AVX2
  return hn::Combine(DU(), block(1), block(0));
#else
  return block(0);
#endif
}

// out[w] = word w, counted from byte `offset`, of kLanes rows: a transposition of kLanes x 4 words.
HWY_INLINE void transpose_words(const uint8_t* const* rows, int64_t offset, VU (&out)[4]) {
  const DU du;
  const hn::Repartition<uint64_t, DU> dw;
  const VU r0 = load_blocks(rows, 0, offset);
  const VU r1 = load_blocks(rows, 1, offset);
  const VU r2 = load_blocks(rows, 2, offset);
  const VU r3 = load_blocks(rows, 3, offset);
  const auto low01 = hn::BitCast(dw, hn::InterleaveLower(du, r0, r1));
  const auto low23 = hn::BitCast(dw, hn::InterleaveLower(du, r2, r3));
  const auto high01 = hn::BitCast(dw, hn::InterleaveUpper(du, r0, r1));
  const auto high23 = hn::BitCast(dw, hn::InterleaveUpper(du, r2, r3));
  out[0] = hn::BitCast(du, hn::InterleaveLower(dw, low01, low23));
  out[1] = hn::BitCast(du, hn::InterleaveUpper(dw, low01, low23));
  out[2] = hn::BitCast(du, hn::InterleaveLower(dw, high01, high23));
  out[3] = hn::BitCast(du, hn::InterleaveUpper(dw, high01, high23));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#endif
