// Rows of a table as f32: look-up by id, or all of them.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embedding.cpp"
#include <hwy/foreach_target.h>

#include "kernels/dequant-inl.h"
#include "kernels/internal.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

void DequantizeRow(const WeightView& w, int64_t row, float* y) {
  dequantize_slice(w, row, 0, w.in, y);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {

HWY_EXPORT(DequantizeRow);

void embedding(const WeightView& table, std::span<const int32_t> ids, float* y,
               base::ThreadPool& pool) {
  for_row_tasks(static_cast<int64_t>(ids.size()), table.in, pool, [&](int64_t row, int64_t count) {
    for (int64_t r = row; r < row + count; ++r) {
      HWY_DYNAMIC_DISPATCH(DequantizeRow)(table, ids[static_cast<size_t>(r)], y + r * table.in);
    }
  });
}

void dequantize(const WeightView& weight, float* y, base::ThreadPool& pool) {
  for_row_tasks(weight.out, weight.in, pool, [&](int64_t row, int64_t count) {
    for (int64_t r = row; r < row + count; ++r) {
      HWY_DYNAMIC_DISPATCH(DequantizeRow)(weight, r, y + r * weight.in);
    }
  });
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
