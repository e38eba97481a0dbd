// Writes new keys and values into the blocks of a cache, narrowing with round-to-nearest-even.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/kv_store.cpp"
#include <hwy/foreach_target.h>

#include "kernels/internal.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE void narrow_bf16(const float* x, int64_t count, uint16_t* y) {
  const DF d;
  const DU du;
  const hn::Rebind<uint16_t, DF> dh;
  const hn::RebindToSigned<DU> di;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF v = hn::LoadU(d, x + i);
    const VU bits = hn::BitCast(du, v);
    const VU odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const VU rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF)));
    // Rounding could turn a NaN into infinity; keep its upper half and make it quiet.
    const VU quiet = hn::Or(bits, hn::Set(du, 0x00400000));
    const VU chosen = hn::IfThenElse(hn::RebindMask(du, hn::Eq(v, v)), rounded, quiet);
    const VU upper = hn::ShiftRight<16>(chosen);
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, upper)), dh, y + i);
  }
  for (; i < count; ++i) y[i] = base::f32_to_bf16(x[i]);
}

void NarrowRow(const float* x, int64_t count, DType type, void* y) {
  if (type == DType::kF32) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(float));
  } else if (type == DType::kBF16) {
    narrow_bf16(x, count, static_cast<uint16_t*>(y));
  } else {
    auto* out = static_cast<uint16_t*>(y);
    int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON  // others emulate the conversion
    const hn::Rebind<hwy::float16_t, DF> dh;
    const hn::Rebind<uint16_t, DF> dh_bits;
    for (; i + kLanes <= count; i += kLanes) {
      const auto half = hn::DemoteTo(dh, hn::LoadU(DF(), x + i));
      hn::StoreU(hn::BitCast(dh_bits, half), dh_bits, out + i);
    }
#endif
    for (; i < count; ++i) out[i] = base::f32_to_f16(x[i]);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(NarrowRow);

void kv_store(const KvBlocks& cache, int64_t start, int64_t tokens, PackedHeads k, PackedHeads v,
              base::ThreadPool& pool) {
  const auto size = static_cast<int64_t>(base::dtype_size(cache.dtype));
  const int64_t width = cache.kv_heads * cache.dim;
  for_row_tasks(tokens, 2 * width, pool, [&](int64_t first, int64_t count) {
    for (int64_t t = first; t < first + count; ++t) {
      const auto block = static_cast<size_t>((start + t) / cache.block_tokens);
      const int64_t slot = (start + t) % cache.block_tokens;
      for (int64_t h = 0; h < cache.kv_heads; ++h) {
        const int64_t at = (h * cache.block_tokens + slot) * cache.dim * size;
        HWY_DYNAMIC_DISPATCH(NarrowRow)
        (k.data + t * k.row_stride + h * cache.dim, cache.dim, cache.dtype,
         static_cast<uint8_t*>(cache.keys[block]) + at);
        HWY_DYNAMIC_DISPATCH(NarrowRow)
        (v.data + t * v.row_stride + h * cache.dim, cache.dim, cache.dtype,
         static_cast<uint8_t*>(cache.values[block]) + at);
      }
    }
  });
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
