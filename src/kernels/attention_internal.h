// The two attention kernels behind block_attention and cached_attention, and how both see keys.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace mlxcel::kernels {

// The rows (keys, or values) of one head: row t is `dim` elements of `type` in block t /
// block_rows.
struct HeadRows {
  const void* const* blocks;
  int64_t block_rows;
  int64_t offset;  // bytes from the start of a block to its row 0 of this head
  int64_t stride;  // bytes from row to row
  base::DType type;

  const uint8_t* row(int64_t t) const {
    return static_cast<const uint8_t*>(blocks[t / block_rows]) + offset + t % block_rows * stride;
  }
};

// Up to kLaneQueries queries, one a vector lane, against keys [0, keys), tile by tile with a
// running maximum; for prompts and pictures. Query i attends to keys t < visible[i] (at least one
// of them).
constexpr int64_t kLaneQueries = 256;
struct LaneAttention {
  HeadRows key_rows;
  HeadRows value_rows;
  int64_t dim;
  float scale;
  int64_t keys;
  int64_t queries;
  const float* q[kLaneQueries];
  float* out[kLaneQueries];
  int64_t visible[kLaneQueries];
};
void lane_attention(const LaneAttention& work);

// Up to kDirectQueries queries against keys [begin, end), at most kDirectKeys of them; for
// decoding, where reading the cache is the limit. Gives for each query dim + 2 floats: the maximum
// of the scores, the sum of the exponentials, and the weighted sum of the values, not yet divided
// by it.
constexpr int64_t kDirectQueries = 8;
constexpr int64_t kDirectKeys = 256;
struct DirectAttention {
  HeadRows key_rows;
  HeadRows value_rows;
  int64_t dim;
  float scale;
  int64_t begin;
  int64_t end;
  int64_t queries;
  const float* q[kDirectQueries];
  int64_t visible[kDirectQueries];
  float* partial;  // [queries, dim + 2]
};
void direct_attention(const DirectAttention& work);

// out[dim] from `parts` partial results that lie `stride` floats apart, taken in order.
void merge_partials(const float* partials, int64_t parts, int64_t stride, int64_t dim, float* out);

}  // namespace mlxcel::kernels
