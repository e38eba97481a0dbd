// The register tile under linear layers and attention: C[m, n] (+)= sum_k A[m, k] B[k, n] in f32.
// Lanes run along n; A is broadcast from memory, so it may lie anywhere with any strides, while B
// rows are contiguous, kLanes floats at a time. Each C element is one chain of FMAs over k, in
// order, whatever the tile it falls into, so results do not depend on how a matrix is cut along m
// and n.
#if defined(MLXCEL_KERNELS_MICROKERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_KERNELS_MICROKERNEL_INL_H_
#undef MLXCEL_KERNELS_MICROKERNEL_INL_H_
#else
#define MLXCEL_KERNELS_MICROKERNEL_INL_H_
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// A in memory: element (m, k) at data[m * row_stride + k * k_stride].
struct MicroA {
  const float* data;
  int64_t row_stride;
  int64_t k_stride;
};

// Rows and vectors of the largest tile. With 32 registers: 24 accumulators, 4 of B, 1 of A.
constexpr int kTileRows = 6;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kTileVectors = 4;
#else
constexpr int kTileVectors = 2;
#endif

template <int kRows, int kVectors>
HWY_NOINLINE void micro_tile(MicroA a, const float* HWY_RESTRICT b, int64_t b_stride,
                             float* HWY_RESTRICT c, int64_t c_stride, int64_t depth,
                             bool accumulate) {
  const DF d;
  VF acc[kRows][kVectors];
  const float* rows[kRows];
  for (int r = 0; r < kRows; ++r) {
    rows[r] = a.data + r * a.row_stride;
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = accumulate ? hn::LoadU(d, c + r * c_stride + v * kLanes) : hn::Zero(d);
    }
  }
  int64_t at = 0;
  for (int64_t k = 0; k < depth; ++k, b += b_stride, at += a.k_stride) {
    VF bv[kVectors];
    for (int v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const VF av = hn::Set(d, rows[r][at]);
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[r][v], d, c + r * c_stride + v * kLanes);
  }
}

template <int kVectors>
HWY_INLINE void micro_rows(int64_t rows, MicroA a, const float* b, int64_t b_stride, float* c,
                           int64_t c_stride, int64_t depth, bool accumulate) {
  int64_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) {
    micro_tile<kTileRows, kVectors>({a.data + r * a.row_stride, a.row_stride, a.k_stride}, b,
                                    b_stride, c + r * c_stride, c_stride, depth, accumulate);
  }
  const MicroA rest = {a.data + r * a.row_stride, a.row_stride, a.k_stride};
  c += r * c_stride;
  switch (rows - r) {
    case 1:
      return micro_tile<1, kVectors>(rest, b, b_stride, c, c_stride, depth, accumulate);
    case 2:
      return micro_tile<2, kVectors>(rest, b, b_stride, c, c_stride, depth, accumulate);
    case 3:
      return micro_tile<3, kVectors>(rest, b, b_stride, c, c_stride, depth, accumulate);
    case 4:
      return micro_tile<4, kVectors>(rest, b, b_stride, c, c_stride, depth, accumulate);
    case 5:
      return micro_tile<5, kVectors>(rest, b, b_stride, c, c_stride, depth, accumulate);
    default:
      return;
  }
}

// rows x (vectors * kLanes) of C.
HWY_INLINE void micro_matmul(int64_t rows, int64_t vectors, MicroA a, const float* b,
                             int64_t b_stride, float* c, int64_t c_stride, int64_t depth,
                             bool accumulate) {
  int64_t v = 0;
  for (; v + kTileVectors <= vectors; v += kTileVectors) {
    micro_rows<kTileVectors>(rows, a, b + v * kLanes, b_stride, c + v * kLanes, c_stride, depth,
                             accumulate);
  }
  if (kTileVectors > 2 && v + 2 <= vectors) {
    micro_rows<2>(rows, a, b + v * kLanes, b_stride, c + v * kLanes, c_stride, depth, accumulate);
    v += 2;
  }
  if (v < vectors) {
    micro_rows<1>(rows, a, b + v * kLanes, b_stride, c + v * kLanes, c_stride, depth, accumulate);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#endif
