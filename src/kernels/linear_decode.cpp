// Linear layers for a few rows of x: every weight is read once from memory, unpacked in registers and
// used at once, so a good machine is limited by its memory. Three kinds of unpacking:
//   words   2 and 4 bits: a vector of 32-bit words holds 32 / bits elements a lane; element k of all
//           lanes comes out with one shift, and x was reordered once to match.
//   bytes   8 bits, and 3, 5, 6 bits after spreading a row to bytes: elements in natural order.
//   dense   f32, f16, bf16 in natural order.
// Quantised weights are used as q - centre (centre in the middle of the range), which keeps sums small:
// y = sum_g scale_g * sum_i (q_i - centre) x_i  +  sum_g (bias_g + centre * scale_g) * sum_i x_i.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_decode.cpp"
#include <hwy/foreach_target.h>

#include "kernels/dequant-inl.h"
#include "kernels/internal.h"
#include "kernels/simd-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// Bytes that a row is read ahead of its use.
constexpr int64_t kAhead = 1024;

HWY_INLINE bool uses_words(const WeightView& w) { return w.bits == 2 || w.bits == 4; }

// ---- Unpacking of words ----

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

template <int kBits, int kRows, int kOuts, int kElement>
HWY_INLINE void accumulate_word(const Words<kBits>& unpack, const VU (&words)[kOuts], const float* x,
                                int64_t x_stride, VF (&acc)[kRows][kOuts]) {
  if constexpr (kElement < 32 / kBits) {
    const DF d;
    VF w[kOuts];
    for (int o = 0; o < kOuts; ++o) w[o] = unpack.template get<kElement>(words[o]);
    for (int r = 0; r < kRows; ++r) {
      const VF xv = hn::Load(d, x + r * x_stride + kElement * kLanes);
      for (int o = 0; o < kOuts; ++o) acc[r][o] = hn::MulAdd(w[o], xv, acc[r][o]);
    }
    accumulate_word<kBits, kRows, kOuts, kElement + 1>(unpack, words, x, x_stride, acc);
  }
}

// sums[r][o] = sum_g scale[o][g] * sum_i (q - centre) x. Scales have kLanes zeros past their end.
template <int kBits, int kRows, int kOuts>
HWY_INLINE void dot_words(const uint8_t* const* rows, const float* const* scales, const WeightView& w,
                          const float* x, int64_t x_stride, VF (&sums)[kRows][kOuts]) {
  const DF d;
  const DU du;
  using Format = Words<kBits>;
  const Format unpack;
  // Lane l of a block belongs to group l / lanes_per_group, counted from the block's first.
  const int64_t lanes_per_group = w.group_size / Format::kPerWord;
  HWY_ALIGN int32_t lane_groups[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lane_groups[l] = static_cast<int32_t>(l / lanes_per_group);
  const auto group_of_lane = hn::SetTableIndices(d, lane_groups);
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) sums[r][o] = hn::Zero(d);
  }
  const int64_t total = w.in / Format::kPerWord;  // words in a row
  for (int64_t at = 0; at < total; at += kLanes, x += Format::kBlock) {
    VU words[kOuts];
    if (HWY_LIKELY(at + kLanes <= total)) {
      for (int o = 0; o < kOuts; ++o) {
        words[o] = hn::LoadU(du, reinterpret_cast<const uint32_t*>(rows[o] + at * 4));
        prefetch(rows[o] + at * 4 + kAhead);
      }
    } else {
      for (int o = 0; o < kOuts; ++o) {
        HWY_ALIGN uint32_t rest[kLanes] = {};
        std::memcpy(rest, rows[o] + at * 4, static_cast<size_t>((total - at) * 4));
        words[o] = hn::Load(du, rest);
      }
    }
    VF acc[kRows][kOuts];
    for (int r = 0; r < kRows; ++r) {
      for (int o = 0; o < kOuts; ++o) acc[r][o] = hn::Zero(d);
    }
    accumulate_word<kBits, kRows, kOuts, 0>(unpack, words, x, x_stride, acc);
    const int64_t group = at / lanes_per_group;
    for (int o = 0; o < kOuts; ++o) {
      const VF scale = hn::TableLookupLanes(hn::LoadU(d, scales[o] + group), group_of_lane);
      for (int r = 0; r < kRows; ++r) sums[r][o] = hn::MulAdd(acc[r][o], scale, sums[r][o]);
    }
  }
}

// ---- Unpacking of bytes ----

// kLanes bytes q as q - 128.
HWY_INLINE VF centred_bytes(const uint8_t* p) {
  const hn::Rebind<uint8_t, DF> db;
  const hn::Rebind<int8_t, DF> dsigned;
  const auto flipped = hn::Xor(hn::LoadU(db, p), hn::Set(db, 0x80));
  return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::BitCast(dsigned, flipped)));
}

template <int kGroup, int kRows, int kOuts>
HWY_INLINE void dot_bytes(const uint8_t* const* rows, const float* const* scales, int64_t in,
                          const float* x, int64_t x_stride, VF (&sums)[kRows][kOuts]) {
  const DF d;
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) sums[r][o] = hn::Zero(d);
  }
  for (int64_t at = 0, group = 0; at < in; at += kGroup, ++group) {
    VF acc[kRows][kOuts];
    for (int r = 0; r < kRows; ++r) {
      for (int o = 0; o < kOuts; ++o) acc[r][o] = hn::Zero(d);
    }
    for (int64_t i = at; i < at + kGroup; i += kLanes) {
      VF wv[kOuts];
      for (int o = 0; o < kOuts; ++o) wv[o] = centred_bytes(rows[o] + i);
      for (int r = 0; r < kRows; ++r) {
        const VF xv = hn::LoadU(d, x + r * x_stride + i);
        for (int o = 0; o < kOuts; ++o) acc[r][o] = hn::MulAdd(wv[o], xv, acc[r][o]);
      }
    }
    for (int o = 0; o < kOuts; ++o) {
      for (int64_t i = 0; i < kGroup; i += 64) prefetch(rows[o] + at + i + kAhead);
      const VF scale = hn::Set(d, scales[o][group]);
      for (int r = 0; r < kRows; ++r) sums[r][o] = hn::MulAdd(acc[r][o], scale, sums[r][o]);
    }
  }
}

// ---- Dense ----

// Elements past the last whole vector are added to `tails`.
template <DType kType, int kRows, int kOuts>
HWY_INLINE void dot_dense(const uint8_t* const* rows, int64_t in, const float* x, int64_t x_stride,
                          VF (&sums)[kRows][kOuts], float (&tails)[kRows][kOuts]) {
  const DF d;
  constexpr int64_t kBytes = kTypeBytes<kType>;
  VF second[kRows][kOuts];
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) {
      sums[r][o] = second[r][o] = hn::Zero(d);
      tails[r][o] = 0;
    }
  }
  int64_t i = 0;
  for (; i + 2 * kLanes <= in; i += 2 * kLanes) {
    VF w0[kOuts];
    VF w1[kOuts];
    for (int o = 0; o < kOuts; ++o) {
      const uint8_t* p = rows[o] + i * kBytes;
      prefetch(p + kAhead);
      if constexpr (2 * kLanes * kBytes > 64) prefetch(p + kAhead + 64);
      w0[o] = load_wide<kType>(p);
      w1[o] = load_wide<kType>(p + kLanes * kBytes);
    }
    for (int r = 0; r < kRows; ++r) {
      const VF x0 = hn::LoadU(d, x + r * x_stride + i);
      const VF x1 = hn::LoadU(d, x + r * x_stride + i + kLanes);
      for (int o = 0; o < kOuts; ++o) {
        sums[r][o] = hn::MulAdd(w0[o], x0, sums[r][o]);
        second[r][o] = hn::MulAdd(w1[o], x1, second[r][o]);
      }
    }
  }
  for (; i < in; ++i) {
    for (int o = 0; o < kOuts; ++o) {
      const float wv = load_scalar<kType>(rows[o] + i * kBytes);
      for (int r = 0; r < kRows; ++r) tails[r][o] += wv * x[r * x_stride + i];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) sums[r][o] = hn::Add(sums[r][o], second[r][o]);
  }
}

// ---- One tile ----

HWY_INLINE int centre_of(const WeightView& w) {
  if (w.bits == 2) return Words<2>::kCentre;
  if (w.bits == 4) return Words<4>::kCentre;
  return 1 << (w.bits - 1);
}

// What kOuts rows of weights need besides their bits, gathered in scratch memory.
struct OutRows {
  const uint8_t* bytes[4];
  const float* scales[4];
  const float* offsets[4];  // bias + centre * scale for each group
};

HWY_INLINE int64_t parameter_stride(const WeightView& w) {
  return round_up(w.in / w.group_size, kLanes) + kLanes;
}

HWY_INLINE void load_out_rows(const WeightView& w, int64_t first, int outs, float* memory,
                              OutRows* result) {
  const DF d;
  const int64_t groups = w.quantized() ? w.in / w.group_size : 0;
  const int64_t stride = w.quantized() ? parameter_stride(w) : 0;
  const int64_t size = w.dtype == DType::kF32 ? 4 : 2;
  for (int o = 0; o < outs; ++o) {
    const int64_t row = first + o;
    result->bytes[o] = row_bytes(w, row);
    if (!w.quantized()) continue;
    float* scales = memory + 2 * o * stride;
    float* offsets = scales + stride;
    widen(w.dtype, static_cast<const uint8_t*>(w.scales) + row * groups * size, groups, scales);
    widen(w.dtype, static_cast<const uint8_t*>(w.biases) + row * groups * size, groups, offsets);
    for (int64_t g = groups; g < stride; ++g) scales[g] = offsets[g] = 0;
    const VF centre = hn::Set(d, static_cast<float>(centre_of(w)));
    for (int64_t g = 0; g < stride; g += kLanes) {
      const VF s = hn::LoadU(d, scales + g);
      hn::StoreU(hn::MulAdd(centre, s, hn::LoadU(d, offsets + g)), d, offsets + g);
    }
    result->scales[o] = scales;
    result->offsets[o] = offsets;
    if (w.bits == 3 || w.bits == 5 || w.bits == 6) {
      // As bytes whose own centre is 128.
      auto* bytes = reinterpret_cast<uint8_t*>(memory + 2 * outs * stride) + o * w.in;
      expand_bytes(w.bits, result->bytes[o], w.in, static_cast<uint8_t>(128 - (1 << (w.bits - 1))),
                   bytes);
      result->bytes[o] = bytes;
    }
  }
}

HWY_INLINE int64_t out_rows_floats(const WeightView& w, int outs) {
  if (!w.quantized()) return 0;
  return 2 * outs * parameter_stride(w) + ceil_div(outs * w.in, 4);
}

template <int kRows, int kOuts>
HWY_INLINE void dots(const WeightView& w, const OutRows& out_rows, const float* x, int64_t x_stride,
                     VF (&sums)[kRows][kOuts], float (&tails)[kRows][kOuts]) {
  if (!w.quantized()) {
    if (w.dtype == DType::kF32)
      return dot_dense<DType::kF32, kRows, kOuts>(out_rows.bytes, w.in, x, x_stride, sums, tails);
    if (w.dtype == DType::kBF16)
      return dot_dense<DType::kBF16, kRows, kOuts>(out_rows.bytes, w.in, x, x_stride, sums, tails);
    return dot_dense<DType::kF16, kRows, kOuts>(out_rows.bytes, w.in, x, x_stride, sums, tails);
  }
  for (auto& row : tails) {
    for (float& tail : row) tail = 0;
  }
  if (w.bits == 4)
    return dot_words<4, kRows, kOuts>(out_rows.bytes, out_rows.scales, w, x, x_stride, sums);
  if (w.bits == 2)
    return dot_words<2, kRows, kOuts>(out_rows.bytes, out_rows.scales, w, x, x_stride, sums);
  if (w.group_size == 32)
    return dot_bytes<32, kRows, kOuts>(out_rows.bytes, out_rows.scales, w.in, x, x_stride, sums);
  if (w.group_size == 64)
    return dot_bytes<64, kRows, kOuts>(out_rows.bytes, out_rows.scales, w.in, x, x_stride, sums);
  return dot_bytes<128, kRows, kOuts>(out_rows.bytes, out_rows.scales, w.in, x, x_stride, sums);
}

// kRows rows of x with kOuts rows of weights.
template <int kRows, int kOuts>
HWY_NOINLINE void tile_part(const WeightView& w, const OutRows& out_rows, const float* x,
                            int64_t x_stride, const float* group_sums, int64_t sum_stride, float* tile,
                            int64_t stride) {
  const DF d;
  VF sums[kRows][kOuts];
  float tails[kRows][kOuts];
  dots<kRows, kOuts>(w, out_rows, x, x_stride, sums, tails);
  if (w.quantized()) {
    const int64_t groups = w.in / w.group_size;
    for (int r = 0; r < kRows; ++r) {
      for (int o = 0; o < kOuts; ++o) {
        for (int64_t g = 0; g < groups; g += kLanes) {
          sums[r][o] = hn::MulAdd(hn::LoadU(d, out_rows.offsets[o] + g),
                                  hn::LoadU(d, group_sums + r * sum_stride + g), sums[r][o]);
        }
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) tile[r * stride + o] = sum_lanes(sums[r][o]) + tails[r][o];
  }
}

template <int kOuts>
HWY_INLINE void tile_rows(const WeightView& w, const PreparedX& x, int64_t rows, int64_t first,
                          float* tile, int64_t stride) {
  OutRows out_rows = {};
  float* memory = scratch_floats(Slot::kRow, static_cast<size_t>(out_rows_floats(w, kOuts)));
  load_out_rows(w, first, kOuts, memory, &out_rows);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    tile_part<4, kOuts>(w, out_rows, x.data + r * x.stride, x.stride, x.sums + r * x.sum_stride,
                        x.sum_stride, tile + r * stride, stride);
  }
  if (r + 2 <= rows) {
    tile_part<2, kOuts>(w, out_rows, x.data + r * x.stride, x.stride, x.sums + r * x.sum_stride,
                        x.sum_stride, tile + r * stride, stride);
    r += 2;
  }
  if (r < rows) {
    tile_part<1, kOuts>(w, out_rows, x.data + r * x.stride, x.stride, x.sums + r * x.sum_stride,
                        x.sum_stride, tile + r * stride, stride);
  }
}

void DecodeTile(const WeightView& w, const PreparedX& x, int64_t rows, int64_t begin, int64_t count,
                float* tile, int64_t stride) {
  int64_t i = 0;
  constexpr int kOuts = 4;
  for (; i + kOuts <= count; i += kOuts) tile_rows<kOuts>(w, x, rows, begin + i, tile + i, stride);
  for (; i < count; ++i) tile_rows<1>(w, x, rows, begin + i, tile + i, stride);
}

// ---- Preparation of x ----

HWY_INLINE int64_t prepared_stride(const WeightView& w) {
  if (!uses_words(w)) return w.in;
  return round_up(w.in, w.bits == 2 ? Words<2>::kBlock : Words<4>::kBlock);
}

HWY_INLINE int64_t prepared_sum_stride(const WeightView& w) {
  return w.quantized() ? round_up(w.in / w.group_size, kLanes) : 0;
}

int64_t PreparedFloats(const WeightView& w, int64_t rows) {
  return rows * (round_up(uses_words(w) ? prepared_stride(w) : 0, 16) + prepared_sum_stride(w));
}

// out[block][k][lane] = x[block][lane][k], zeros past the end.
HWY_INLINE void reorder_row(const float* x, int64_t in, int64_t per_word, float* out) {
  const int64_t block = per_word * kLanes;
  for (int64_t b = 0; b < in; b += block, out += block) {
    const int64_t lanes = std::min<int64_t>(kLanes, (in - b) / per_word);
    for (int64_t k = 0; k < per_word; ++k) {
      for (int64_t l = 0; l < lanes; ++l) out[k * kLanes + l] = x[b + l * per_word + k];
      for (int64_t l = lanes; l < kLanes; ++l) out[k * kLanes + l] = 0;
    }
  }
}

HWY_INLINE float group_sum(const float* x, int64_t size) {
  const DF d;
  VF sum = hn::Zero(d);
  for (int64_t i = 0; i < size; i += kLanes) sum = hn::Add(sum, hn::LoadU(d, x + i));
  return sum_lanes(sum);
}

PreparedX PrepareX(const WeightView& w, const float* x, int64_t rows, float* memory) {
  PreparedX result = {x, w.in, nullptr, 0};
  if (!w.quantized()) return result;
  if (uses_words(w)) {
    result.data = memory;
    result.stride = round_up(prepared_stride(w), 16);
    for (int64_t r = 0; r < rows; ++r) {
      reorder_row(x + r * w.in, w.in, 32 / w.bits, memory + r * result.stride);
    }
    memory += rows * result.stride;
  }
  result.sums = memory;
  result.sum_stride = prepared_sum_stride(w);
  for (int64_t r = 0; r < rows; ++r) {
    float* sums = memory + r * result.sum_stride;
    const int64_t groups = w.in / w.group_size;
    for (int64_t g = 0; g < groups; ++g) sums[g] = group_sum(x + r * w.in + g * w.group_size, w.group_size);
    for (int64_t g = groups; g < result.sum_stride; ++g) sums[g] = 0;
  }
  return result;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(DecodeTile);
HWY_EXPORT(PreparedFloats);
HWY_EXPORT(PrepareX);

int64_t prepared_floats(const WeightView& weight, int64_t rows) {
  return HWY_DYNAMIC_DISPATCH(PreparedFloats)(weight, rows);
}

PreparedX prepare_x(const WeightView& weight, const float* x, int64_t rows, float* memory) {
  return HWY_DYNAMIC_DISPATCH(PrepareX)(weight, x, rows, memory);
}

bool same_preparation(const WeightView& a, const WeightView& b) {
  const auto order = [](const WeightView& w) { return w.bits == 2 || w.bits == 4 ? w.bits : 0; };
  return a.quantized() == b.quantized() && order(a) == order(b) && a.group_size == b.group_size;
}

void decode_tile(const WeightView& weight, const PreparedX& x, int64_t rows, int64_t begin,
                 int64_t count, float* tile, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(DecodeTile)(weight, x, rows, begin, count, tile, stride);
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
