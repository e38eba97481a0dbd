// Linear layers for a few rows of x: every weight is read once from memory, unpacked in registers
// and used at once, so a good machine is limited by its memory. Three kinds of unpacking:
//   words   2 and 4 bits: a vector of 32-bit words holds 32 / bits elements a lane; element k of
//   all
//           lanes comes out with one shift, and x was reordered once to match.
//   bytes   8 bits, and 3, 5, 6 bits after spreading a row to bytes: elements in natural order.
//   dense   f32, f16, bf16 in natural order.
// Quantised weights are used as q - centre (centre in the middle of the range), which keeps sums
// small: y = sum_g scale_g * sum_i (q_i - centre) x_i  +  sum_g (bias_g + centre * scale_g) * sum_i
// x_i.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_decode.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>

#include "kernels/dequant-inl.h"
#include "kernels/internal.h"
#include "kernels/simd-inl.h"
#include "kernels/words-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE bool uses_words(const WeightView& w) { return w.bits == 2 || w.bits == 4; }

// What up to four rows of weights need, gathered in scratch memory.
struct OutRows {
  const uint8_t* bytes[4];
  const float* scales[4];
  const float* offsets[4];  // bias + centre * scale for each group
};

// ---- Unpacking of words ----

template <int kBits, int kRows, int kOuts, int kElement>
HWY_INLINE void accumulate_word(const Words<kBits>& unpack, const VU (&words)[kOuts],
                                const float* x, int64_t x_stride, VF (&acc)[kRows][kOuts]) {
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

// How far ahead weights are fetched. One row at a time is one stream, which the processor's own
// prefetching follows at full speed given a start. Several rows at a time lie one after the other,
// and so do the next ones: those are fetched at the pace at which the present ones are read.
template <int kOuts>
HWY_INLINE int64_t fetch_distance(int64_t row_bytes) {
  return kOuts == 1 ? 4096 : kOuts * row_bytes;
}

template <int kOuts>
HWY_INLINE void prefetch_next(const uint8_t* const* next, int64_t offset) {
  for (int o = 0; o < kOuts; ++o) prefetch(next[o] + offset);
}

// result[r][o] = sum_g scale[o][g] * sum_i (q - centre) x. Scales have kLanes zeros past their end.
template <int kBits, int kRows, int kOuts>
HWY_INLINE void dot_words(const OutRows& outs, const WeightView& w, const float* x,
                          int64_t x_stride, VF (&result)[kRows][kOuts]) {
  const DF d;
  const DU du;
  using Format = Words<kBits>;
  const Format unpack;
  // Lane l of a block belongs to group l >> group_shift, counted from the block's first.
  const int group_shift = std::countr_zero(static_cast<uint64_t>(w.group_size / Format::kPerWord));
  HWY_ALIGN int32_t lane_groups[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lane_groups[l] = static_cast<int32_t>(l >> group_shift);
  const auto group_of_lane = hn::SetTableIndices(d, lane_groups);
  const uint8_t* rows[kOuts];
  const uint8_t* next[kOuts];
  const float* scales[kOuts];
  VF sums[kRows][kOuts];
  const int64_t total = w.in / Format::kPerWord;  // words in a row
  for (int o = 0; o < kOuts; ++o) {
    rows[o] = outs.bytes[o];
    next[o] = rows[o] + fetch_distance<kOuts>(total * 4);
    scales[o] = outs.scales[o];
    for (int r = 0; r < kRows; ++r) sums[r][o] = hn::Zero(d);
  }
  for (int64_t at = 0; at < total; at += kLanes, x += Format::kBlock) {
    VU words[kOuts];
    if (HWY_LIKELY(at + kLanes <= total)) {
      for (int o = 0; o < kOuts; ++o) {
        words[o] = hn::LoadU(du, reinterpret_cast<const uint32_t*>(rows[o] + at * 4));
      }
      prefetch_next<kOuts>(next, at * 4);
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
    const int64_t group = at >> group_shift;
    for (int o = 0; o < kOuts; ++o) {
      const VF scale = hn::TableLookupLanes(hn::LoadU(d, scales[o] + group), group_of_lane);
      for (int r = 0; r < kRows; ++r) sums[r][o] = hn::MulAdd(acc[r][o], scale, sums[r][o]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) result[r][o] = sums[r][o];
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
HWY_INLINE void dot_bytes(const OutRows& outs, int64_t in, const float* x, int64_t x_stride,
                          VF (&result)[kRows][kOuts]) {
  const DF d;
  const uint8_t* rows[kOuts];
  const uint8_t* next[kOuts];
  const float* scales[kOuts];
  VF sums[kRows][kOuts];
  for (int o = 0; o < kOuts; ++o) {
    rows[o] = outs.bytes[o];
    next[o] = rows[o] + fetch_distance<kOuts>(in);
    scales[o] = outs.scales[o];
    for (int r = 0; r < kRows; ++r) sums[r][o] = hn::Zero(d);
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
    for (int64_t i = 0; i < kGroup; i += 64) prefetch_next<kOuts>(next, at + i);
    for (int o = 0; o < kOuts; ++o) {
      const VF scale = hn::Set(d, scales[o][group]);
      for (int r = 0; r < kRows; ++r) sums[r][o] = hn::MulAdd(acc[r][o], scale, sums[r][o]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) result[r][o] = sums[r][o];
  }
}

// ---- Dense ----

// Two chains of sums for each output, and `tails` for the elements past the last pair of vectors.
// kFirst: where in the arrays the kOuts outputs begin.
template <DType kType, int kRows, int kOuts, int kFirst, int kAll>
HWY_INLINE void dot_dense(const OutRows& outs, int64_t in, const float* x, int64_t x_stride,
                          VF (&result)[kRows][kAll], float (&tails)[kRows][kAll]) {
  const DF d;
  constexpr int64_t kBytes = kTypeBytes<kType>;
  const uint8_t* rows[kOuts];
  const uint8_t* next[kOuts];
  VF first[kRows][kOuts];
  VF second[kRows][kOuts];
  for (int o = 0; o < kOuts; ++o) {
    rows[o] = outs.bytes[kFirst + o];
    next[o] = rows[o] + fetch_distance<kAll>(in * kBytes);
    for (int r = 0; r < kRows; ++r) first[r][o] = second[r][o] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + 2 * kLanes <= in; i += 2 * kLanes) {
    VF w0[kOuts];
    VF w1[kOuts];
    for (int64_t b = 0; b < 2 * kLanes * kBytes; b += 64)
      prefetch_next<kOuts>(next, i * kBytes + b);
    for (int o = 0; o < kOuts; ++o) {
      const uint8_t* p = rows[o] + i * kBytes;
      w0[o] = load_wide<kType>(p);
      w1[o] = load_wide<kType>(p + kLanes * kBytes);
    }
    for (int r = 0; r < kRows; ++r) {
      const VF x0 = hn::LoadU(d, x + r * x_stride + i);
      const VF x1 = hn::LoadU(d, x + r * x_stride + i + kLanes);
      for (int o = 0; o < kOuts; ++o) {
        first[r][o] = hn::MulAdd(w0[o], x0, first[r][o]);
        second[r][o] = hn::MulAdd(w1[o], x1, second[r][o]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < kOuts; ++o) {
      result[r][kFirst + o] = hn::Add(first[r][o], second[r][o]);
      float tail = 0;
      for (int64_t j = i; j < in; ++j) {
        tail += load_scalar<kType>(rows[o] + j * kBytes) * x[r * x_stride + j];
      }
      tails[r][kFirst + o] = tail;
    }
  }
}

// As many outputs at a time as leave registers for two chains each.
template <DType kType, int kRows, int kOuts>
HWY_INLINE void dot_dense_all(const OutRows& outs, int64_t in, const float* x, int64_t x_stride,
                              VF (&result)[kRows][kOuts], float (&tails)[kRows][kOuts]) {
  if constexpr (kRows * kOuts > 8) {
    dot_dense<kType, kRows, kOuts / 2, 0>(outs, in, x, x_stride, result, tails);
    dot_dense<kType, kRows, kOuts / 2, kOuts / 2>(outs, in, x, x_stride, result, tails);
  } else {
    dot_dense<kType, kRows, kOuts, 0>(outs, in, x, x_stride, result, tails);
  }
}

// ---- One tile ----

HWY_INLINE int centre_of(const WeightView& w) {
  if (w.bits == 2) return Words<2>::kCentre;
  if (w.bits == 4) return Words<4>::kCentre;
  return 1 << (w.bits - 1);
}

HWY_INLINE int64_t parameter_stride(const WeightView& w) {
  return w.in / w.group_size + kLanes;  // zeros behind
}

// As widen(), but the last vector overlaps the one before instead of giving way to single elements.
HWY_INLINE void widen_overlapping(DType type, const uint8_t* p, int64_t count, float* out) {
  const int64_t whole = count / kLanes * kLanes;
  if (whole == 0) return widen(type, p, count, out);
  widen(type, p, whole, out);
  const int64_t last = count - kLanes;
  if (whole < count) widen(type, p + last * (type == DType::kF32 ? 4 : 2), kLanes, out + last);
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
    const uint8_t* scale_row = static_cast<const uint8_t*>(w.scales) + row * groups * size;
    const uint8_t* bias_row = static_cast<const uint8_t*>(w.biases) + row * groups * size;
    for (int64_t b = 0; b < groups * size; b += 64) {
      prefetch(scale_row + b + 2048);
      prefetch(bias_row + b + 2048);
    }
    widen_overlapping(w.dtype, scale_row, groups, scales);
    widen_overlapping(w.dtype, bias_row, groups, offsets);
    hn::StoreU(hn::Zero(d), d, scales + groups);
    hn::StoreU(hn::Zero(d), d, offsets + groups);
    const VF centre = hn::Set(d, static_cast<float>(centre_of(w)));
    for (int64_t g = 0; g < groups; g += kLanes) {
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
      return dot_dense_all<DType::kF32>(out_rows, w.in, x, x_stride, sums, tails);
    if (w.dtype == DType::kBF16)
      return dot_dense_all<DType::kBF16>(out_rows, w.in, x, x_stride, sums, tails);
    return dot_dense_all<DType::kF16>(out_rows, w.in, x, x_stride, sums, tails);
  }
  for (auto& row : tails) {
    for (float& tail : row) tail = 0;
  }
  if (w.bits == 4) return dot_words<4>(out_rows, w, x, x_stride, sums);
  if (w.bits == 2) return dot_words<2>(out_rows, w, x, x_stride, sums);
  if (w.group_size == 32) return dot_bytes<32>(out_rows, w.in, x, x_stride, sums);
  if (w.group_size == 64) return dot_bytes<64>(out_rows, w.in, x, x_stride, sums);
  return dot_bytes<128>(out_rows, w.in, x, x_stride, sums);
}

// kRows rows of x with kOuts rows of weights.
template <int kRows, int kOuts>
HWY_NOINLINE void tile_part(const WeightView& w, const OutRows& out_rows, const float* x,
                            int64_t x_stride, const float* group_sums, int64_t sum_stride,
                            float* tile, int64_t stride) {
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
  // Several outputs share each load of x. Dense weights with one row of x do without: they are
  // bound by memory, which is read fastest as one stream.
  constexpr int kOuts = 4;
  const bool share = w.quantized() || rows > 1;
  for (; share && i + kOuts <= count; i += kOuts)
    tile_rows<kOuts>(w, x, rows, begin + i, tile + i, stride);
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
  const DF d;
  const DI di;
  const int64_t block = per_word * kLanes;
  const VI lane_starts = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(per_word)));
  int64_t b = 0;
  for (; b + block <= in; b += block, out += block) {
    for (int64_t k = 0; k < per_word; ++k) {
      hn::Store(hn::GatherIndex(d, x + b + k, lane_starts), d, out + k * kLanes);
    }
  }
  if (b == in) return;
  std::fill_n(out, block, 0.0f);
  for (int64_t i = b; i < in; ++i) out[(i - b) % per_word * kLanes + (i - b) / per_word] = x[i];
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
    for (int64_t g = 0; g < groups; ++g)
      sums[g] = group_sum(x + r * w.in + g * w.group_size, w.group_size);
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
