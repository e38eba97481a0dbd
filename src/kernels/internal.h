// What the files of this folder share beyond the public contract: how calls are cut into tasks and
// the functions that one file provides to another. Each is compiled for every target and picked at
// run time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.h"

namespace mlxcel::kernels {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// work(first_row, count) for pieces of about 16 K elements.
template <typename Work>
void for_row_tasks(int64_t rows, int64_t width, base::ThreadPool& pool, const Work& work) {
  if (rows <= 0 || width <= 0) return;
  const int64_t piece = std::max<int64_t>(1, 16 * 1024 / width);
  pool.run(static_cast<size_t>(ceil_div(rows, piece)), [&](size_t task) {
    const int64_t row = static_cast<int64_t>(task) * piece;
    work(row, std::min(piece, rows - row));
  });
}

// Up to this many rows of x, weights are unpacked for each use (bound by reading them); above, they
// are unpacked once into panels of f32 (bound by arithmetic).
constexpr int64_t kFewRows = 12;

// x as the decoding kernels read it: elements in the order in which a target unpacks the weights,
// and, for quantised weights, sums over each group. Both are [rows, ...].
struct PreparedX {
  const float* data = nullptr;
  int64_t stride = 0;
  const float* sums = nullptr;
  int64_t sum_stride = 0;
};
// Floats needed for rows of x, and the filling of them.
int64_t prepared_floats(const WeightView& weight, int64_t rows);
PreparedX prepare_x(const WeightView& weight, const float* x, int64_t rows, float* memory);
// Whether x prepared for `a` serves `b` too.
bool same_preparation(const WeightView& a, const WeightView& b);

// tile[row, i] = dot(x[row], W[begin + i]) for i < count; tile rows are `stride` floats apart.
void decode_tile(const WeightView& weight, const PreparedX& x, int64_t rows, int64_t begin,
                 int64_t count, float* tile, int64_t stride);

// The same for many rows: x as given ([rows, in]); count <= kGemmColumns, stride = kGemmColumns.
// Columns past `count` are scratch.
constexpr int64_t kGemmColumns = 128;
constexpr int64_t kGemmRows = 512;
void gemm_tile(const WeightView& weight, const float* x, int64_t rows, int64_t begin, int64_t count,
               float* tile);

// Rows x columns of the tile to out, through the epilogue. `epilogue` and `out` are already moved
// to the first row and column; rows of out and residual are `out_stride` floats apart. The tile is
// scratch afterwards.
void finish_tile(float* tile, int64_t tile_stride, int64_t rows, int64_t columns,
                 const Epilogue& epilogue, float* out, int64_t out_stride);
// out = silu(gate) * up.
void finish_swiglu(const float* gate, const float* up, int64_t tile_stride, int64_t rows,
                   int64_t columns, float* out, int64_t out_stride);

}  // namespace mlxcel::kernels
