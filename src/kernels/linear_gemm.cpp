// Linear layers for many rows of x: bound by arithmetic. Weights are widened to f32 and transposed,
// kDepth inputs and one register tile of outputs at a time, into panels that stay in cache while
// all rows of x in the tile pass over them. Transposition happens on packed words, where a vector
// holds one word of each of kLanes outputs; unpacking then yields whole rows of the panel.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_gemm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/dequant-inl.h"
#include "kernels/internal.h"
#include "kernels/microkernel-inl.h"
#include "kernels/simd-inl.h"
#include "kernels/words-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// Inputs of one panel: a multiple of every group size.
constexpr int64_t kDepth = 256;
// Outputs of one panel.
constexpr int64_t kPanelWidth = kTileVectors * kLanes;
static_assert(kGemmColumns % kPanelWidth == 0);

// Formats: unpack word vectors to kPerWord vectors of f32 and store each in its row of the panel.
struct F32Words {
  static constexpr int64_t kPerWord = 1;
  HWY_INLINE void store(VU words, VF /*scale*/, VF /*offset*/, float* panel) const {
    hn::StoreU(hn::BitCast(DF(), words), DF(), panel);
  }
};

struct Bf16Words {
  static constexpr int64_t kPerWord = 2;
  HWY_INLINE void store(VU words, VF /*scale*/, VF /*offset*/, float* panel) const {
    const DF d;
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(words)), d, panel);
    hn::StoreU(hn::BitCast(d, hn::And(words, hn::Set(DU(), 0xFFFF0000u))), d, panel + kPanelWidth);
  }
};

struct F16Words {
  static constexpr int64_t kPerWord = 2;
  HWY_INLINE void store(VU words, VF /*scale*/, VF /*offset*/, float* panel) const {
    const hn::Rebind<uint16_t, DF> dh;
    const DI di;
    const VU low = hn::And(words, hn::Set(DU(), 0xFFFFu));
    const VU high = hn::ShiftRight<16>(words);
    hn::StoreU(widen_f16(hn::DemoteTo(dh, hn::BitCast(di, low))), DF(), panel);
    hn::StoreU(widen_f16(hn::DemoteTo(dh, hn::BitCast(di, high))), DF(), panel + kPanelWidth);
  }
};

struct ByteWords {
  static constexpr int64_t kPerWord = 4;
  template <int kElement>
  HWY_INLINE void store_one(VU words, VF scale, VF offset, float* panel) const {
    const VU q = hn::And(hn::ShiftRight<8 * kElement>(words), hn::Set(DU(), 0xFFu));
    const VF value = hn::ConvertTo(DF(), hn::BitCast(DI(), q));
    hn::StoreU(hn::MulAdd(value, scale, offset), DF(), panel + kElement * kPanelWidth);
  }
  HWY_INLINE void store(VU words, VF scale, VF offset, float* panel) const {
    store_one<0>(words, scale, offset, panel);
    store_one<1>(words, scale, offset, panel);
    store_one<2>(words, scale, offset, panel);
    store_one<3>(words, scale, offset, panel);
  }
};

template <int kBits>
struct PackedWords {
  static constexpr int64_t kPerWord = 32 / kBits;
  Words<kBits> unpack;
  // Written out, since an implicit constructor would be compiled for the baseline target.
  HWY_INLINE PackedWords() : unpack() {}
  template <int kElement>
  HWY_INLINE void store_from(VU words, VF scale, VF offset, float* panel) const {
    if constexpr (kElement < kPerWord) {
      const VF value = unpack.template get<kElement>(words);
      hn::StoreU(hn::MulAdd(value, scale, offset), DF(), panel + kElement * kPanelWidth);
      store_from<kElement + 1>(words, scale, offset, panel);
    }
  }
  HWY_INLINE void store(VU words, VF scale, VF offset, float* panel) const {
    store_from<0>(words, scale, offset, panel);
  }
};

// `words` words, from the start of each of kLanes rows, into a column of vectors of the panel.
// Writes up to 3 words' elements more than that.
template <class Format>
HWY_INLINE void unpack_words(const Format& format, const uint8_t* const* rows, int64_t words,
                             VF scale, VF offset, float* panel) {
  VU transposed[4];
  int64_t w = 0;
  for (; w + 4 <= words; w += 4) {
    transpose_words(rows, w * 4, transposed);
    for (int i = 0; i < 4; ++i) {
      format.store(transposed[i], scale, offset, panel + (w + i) * Format::kPerWord * kPanelWidth);
    }
  }
  if (w == words) return;
  // The last words of a row may be the last of a file.
  HWY_ALIGN uint32_t rest[kLanes][4] = {};
  const uint8_t* rest_rows[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) {
    std::memcpy(rest[l], rows[l] + w * 4, static_cast<size_t>((words - w) * 4));
    rest_rows[l] = reinterpret_cast<const uint8_t*>(rest[l]);
  }
  transpose_words(rest_rows, 0, transposed);
  for (int i = 0; i < 4; ++i) {
    format.store(transposed[i], scale, offset, panel + (w + i) * Format::kPerWord * kPanelWidth);
  }
}

// Dense rows: whole words, then what is left of one, element by element.
template <class Format>
HWY_INLINE void pack_dense(const WeightView& w, const uint8_t* const* rows, int64_t depth,
                           float* panel) {
  const VF none = hn::Zero(DF());
  const int64_t words = depth / Format::kPerWord;
  unpack_words(Format(), rows, words, none, none, panel);
  for (int64_t k = words * Format::kPerWord; k < depth; ++k) {
    for (int64_t l = 0; l < kLanes; ++l) {
      panel[k * kPanelWidth + l] = load_parameter(w.dtype, rows[l], k);
    }
  }
}

template <class Format>
HWY_INLINE void pack_groups(const WeightView& w, const uint8_t* const* rows,
                            const int64_t* row_numbers, int64_t k_begin, int64_t depth, int centre,
                            float* panel) {
  const DF d;
  const Format format;
  const int64_t groups = w.in / w.group_size;
  const int64_t words = w.group_size / Format::kPerWord;
  HWY_ALIGN float scales[kLanes];
  HWY_ALIGN float biases[kLanes];
  const uint8_t* at[kLanes];
  std::copy_n(rows, kLanes, at);
  for (int64_t k = 0; k < depth; k += w.group_size) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t group = row_numbers[l] * groups + (k_begin + k) / w.group_size;
      scales[l] = load_parameter(w.dtype, w.scales, group);
      biases[l] = load_parameter(w.dtype, w.biases, group);
    }
    const VF scale = hn::Load(d, scales);
    const VF offset =
        hn::MulAdd(hn::Set(d, static_cast<float>(centre)), scale, hn::Load(d, biases));
    unpack_words(format, at, words, scale, offset, panel + k * kPanelWidth);
    for (const uint8_t*& p : at) p += words * 4;
  }
}

// panel[k][column] = W[begin + column, k_begin + k] for one vector of columns; columns past the
// matrix repeat its last row.
HWY_NOINLINE void pack_columns(const WeightView& w, int64_t begin, int64_t k_begin, int64_t depth,
                               float* panel) {
  int64_t numbers[kLanes];
  const uint8_t* rows[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) {
    numbers[l] = std::min(begin + l, w.out - 1);
    rows[l] = row_bytes(w, numbers[l]);
  }
  if (!w.quantized()) {
    for (const uint8_t*& p : rows) p += k_begin * (w.dtype == DType::kF32 ? 4 : 2);
    if (w.dtype == DType::kF32) return pack_dense<F32Words>(w, rows, depth, panel);
    if (w.dtype == DType::kBF16) return pack_dense<Bf16Words>(w, rows, depth, panel);
    return pack_dense<F16Words>(w, rows, depth, panel);
  }
  for (const uint8_t*& p : rows) p += k_begin / 8 * w.bits;
  if (w.bits == 4) {
    return pack_groups<PackedWords<4>>(w, rows, numbers, k_begin, depth, Words<4>::kCentre, panel);
  }
  if (w.bits == 2) {
    return pack_groups<PackedWords<2>>(w, rows, numbers, k_begin, depth, Words<2>::kCentre, panel);
  }
  HWY_ALIGN uint8_t expanded[kLanes][kDepth];
  if (w.bits != 8) {
    for (int64_t l = 0; l < kLanes; ++l) {
      expand_bytes(w.bits, rows[l], depth, 0, expanded[l]);
      rows[l] = expanded[l];
    }
  }
  pack_groups<ByteWords>(w, rows, numbers, k_begin, depth, 0, panel);
}

void GemmTile(const WeightView& w, const float* x, int64_t rows, int64_t begin, int64_t count,
              float* tile) {
  // A few rows more than kDepth: see unpack_words.
  constexpr int64_t kPanelFloats = (kDepth + 64) * kPanelWidth;
  float* panel = scratch_floats(Slot::kPanel, static_cast<size_t>(kPanelFloats));
  if (w.in == 0) std::fill_n(tile, rows * kGemmColumns, 0.0f);
  for (int64_t k = 0; k < w.in; k += kDepth) {
    const int64_t depth = std::min(kDepth, w.in - k);
    for (int64_t column = 0; column < count; column += kPanelWidth) {
      const int64_t vectors = std::min<int64_t>(kTileVectors, ceil_div(count - column, kLanes));
      for (int64_t v = 0; v < vectors; ++v) {
        pack_columns(w, begin + column + v * kLanes, k, depth, panel + v * kLanes);
      }
      micro_matmul(rows, vectors, {x + k, w.in, 1}, panel, kPanelWidth, tile + column, kGemmColumns,
                   depth, k > 0);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(GemmTile);

void gemm_tile(const WeightView& weight, const float* x, int64_t rows, int64_t begin, int64_t count,
               float* tile) {
  HWY_DYNAMIC_DISPATCH(GemmTile)(weight, x, rows, begin, count, tile);
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
