// Linear layers for many rows of x: bound by arithmetic. A block of kGemmColumns weight rows is widened
// to f32, transposed, kDepth inputs at a time, into a panel that stays in the second-level cache while all rows
// of x in the tile pass over it.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_gemm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/dequant-inl.h"
#include "kernels/internal.h"
#include "kernels/microkernel-inl.h"
#include "kernels/simd-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// Inputs of one panel: a multiple of every group size.
constexpr int64_t kDepth = 256;

// panel[k][column] = W[begin + column, k_begin + k], zero for columns in [count, padded).
HWY_INLINE void pack_panel(const WeightView& w, int64_t begin, int64_t count, int64_t padded,
                           int64_t k_begin, int64_t depth, float* panel) {
  HWY_ALIGN float row[kDepth];
  for (int64_t column = 0; column < padded; ++column) {
    if (column < count) {
      dequantize_slice(w, begin + column, k_begin, depth, row);
    } else {
      std::memset(row, 0, sizeof(row));
    }
    for (int64_t k = 0; k < depth; ++k) panel[k * kGemmColumns + column] = row[k];
  }
}

void GemmTile(const WeightView& w, const float* x, int64_t rows, int64_t begin, int64_t count,
              float* tile) {
  float* panel = scratch_floats(Slot::kPanel, static_cast<size_t>(kDepth * kGemmColumns));
  const int64_t vectors = ceil_div(count, kLanes);
  if (w.in == 0) std::fill_n(tile, rows * kGemmColumns, 0.0f);
  for (int64_t k = 0; k < w.in; k += kDepth) {
    const int64_t depth = std::min(kDepth, w.in - k);
    pack_panel(w, begin, count, vectors * kLanes, k, depth, panel);
    micro_matmul(rows, vectors, {x + k, w.in, 1}, panel, kGemmColumns, tile, kGemmColumns, depth, k > 0);
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
