// Cuts attention into tasks: by head and tile of queries, and for decoding by kv head and stretch
// of the context. The cuts depend on shapes alone and partial results are merged in order, so
// results are the same for any number of threads.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/attention_internal.h"
#include "kernels/internal.h"
#include "kernels/workspace.h"

namespace mlxcel::kernels {
namespace {

// The queries of one kv head: `repeat` query heads of each token, heads innermost.
struct GroupedQueries {
  PackedHeads q;
  float* out;
  int64_t dim;
  int64_t heads;
  int64_t repeat;
  int64_t start;  // position of token 0

  void place(int64_t index, int64_t kv_head, const float** query, float** target,
             int64_t* visible) const {
    const int64_t token = index / repeat;
    const int64_t head = kv_head * repeat + index % repeat;
    *query = q.data + token * q.row_stride + head * dim;
    *target = out + (token * heads + head) * dim;
    *visible = start + token + 1;
  }
};

HeadRows cache_rows(const KvBlocks& cache, std::span<void* const> blocks, int64_t head) {
  const int64_t row = cache.dim * static_cast<int64_t>(base::dtype_size(cache.dtype));
  return {blocks.data(), cache.block_tokens, head * cache.block_tokens * row, row, cache.dtype};
}

void cached_few(const GroupedQueries& queries, int64_t count, const KvBlocks& cache, float scale,
                base::ThreadPool& pool) {
  const int64_t keys = queries.start + count / queries.repeat;
  const int64_t parts = ceil_div(keys, kDirectKeys);
  const int64_t stride = cache.dim + 2;
  // [part, kv head, query, stride]
  const int64_t part_stride = cache.kv_heads * count * stride;
  float* partials = scratch_floats(Slot::kShared, static_cast<size_t>(parts * part_stride));
  pool.run(static_cast<size_t>(parts * cache.kv_heads), [&](size_t task) {
    const int64_t part = static_cast<int64_t>(task) / cache.kv_heads;
    const int64_t head = static_cast<int64_t>(task) % cache.kv_heads;
    DirectAttention work;
    work.key_rows = cache_rows(cache, cache.keys, head);
    work.value_rows = cache_rows(cache, cache.values, head);
    work.dim = cache.dim;
    work.scale = scale;
    work.begin = part * kDirectKeys;
    work.end = std::min(keys, work.begin + kDirectKeys);
    work.queries = count;
    float* unused = nullptr;
    for (int64_t i = 0; i < count; ++i)
      queries.place(i, head, &work.q[i], &unused, &work.visible[i]);
    work.partial = partials + part * part_stride + head * count * stride;
    direct_attention(work);
  });
  pool.run(static_cast<size_t>(cache.kv_heads), [&](size_t task) {
    const auto head = static_cast<int64_t>(task);
    for (int64_t i = 0; i < count; ++i) {
      const float* query = nullptr;
      float* target = nullptr;
      int64_t visible = 0;
      queries.place(i, head, &query, &target, &visible);
      merge_partials(partials + (head * count + i) * stride, parts, part_stride, cache.dim, target);
    }
  });
}

void cached_many(const GroupedQueries& queries, int64_t count, const KvBlocks& cache, float scale,
                 base::ThreadPool& pool) {
  const int64_t tiles = ceil_div(count, kLaneQueries);
  pool.run(static_cast<size_t>(tiles * cache.kv_heads), [&](size_t task) {
    // Late tiles see more keys: the long tasks come first.
    const int64_t tile = tiles - 1 - static_cast<int64_t>(task) / cache.kv_heads;
    const int64_t head = static_cast<int64_t>(task) % cache.kv_heads;
    LaneAttention work;
    work.key_rows = cache_rows(cache, cache.keys, head);
    work.value_rows = cache_rows(cache, cache.values, head);
    work.dim = cache.dim;
    work.scale = scale;
    const int64_t first = tile * kLaneQueries;
    work.queries = std::min(kLaneQueries, count - first);
    for (int64_t i = 0; i < work.queries; ++i) {
      queries.place(first + i, head, &work.q[i], &work.out[i], &work.visible[i]);
    }
    work.keys = work.visible[work.queries - 1];
    lane_attention(work);
  });
}

struct BlockTile {
  int64_t block_begin;
  int64_t block_end;
  int64_t first;  // query
};

}  // namespace

void block_attention(PackedHeads q, PackedHeads k, PackedHeads v,
                     std::span<const int64_t> cu_seqlens, int64_t heads, int64_t dim, float scale,
                     float* out, base::ThreadPool& pool) {
  std::vector<BlockTile> tiles;
  for (size_t b = 0; b + 1 < cu_seqlens.size(); ++b) {
    for (int64_t first = cu_seqlens[b]; first < cu_seqlens[b + 1]; first += kLaneQueries) {
      tiles.push_back({cu_seqlens[b], cu_seqlens[b + 1], first});
    }
  }
  // Heads outermost: the tiles of one head read the same keys.
  pool.run(tiles.size() * static_cast<size_t>(heads), [&](size_t task) {
    const BlockTile& tile = tiles[task % tiles.size()];
    const auto head = static_cast<int64_t>(task / tiles.size());
    const void* const key_block = k.data + tile.block_begin * k.row_stride + head * dim;
    const void* const value_block = v.data + tile.block_begin * v.row_stride + head * dim;
    LaneAttention work;
    work.keys = tile.block_end - tile.block_begin;
    work.key_rows = {&key_block, work.keys, 0, k.row_stride * 4, base::DType::kF32};
    work.value_rows = {&value_block, work.keys, 0, v.row_stride * 4, base::DType::kF32};
    work.dim = dim;
    work.scale = scale;
    work.queries = std::min(kLaneQueries, tile.block_end - tile.first);
    for (int64_t i = 0; i < work.queries; ++i) {
      work.q[i] = q.data + (tile.first + i) * q.row_stride + head * dim;
      work.out[i] = out + ((tile.first + i) * heads + head) * dim;
      work.visible[i] = work.keys;
    }
    lane_attention(work);
  });
}

void cached_attention(PackedHeads q, int64_t tokens, int64_t start, int64_t heads,
                      const KvBlocks& cache, float scale, float* out, base::ThreadPool& pool) {
  if (tokens <= 0 || heads <= 0) return;
  if (cache.kv_heads <= 0 || heads % cache.kv_heads != 0) {
    throw base::internal_error("cached_attention: {} query heads over {} kv heads", heads,
                               cache.kv_heads);
  }
  const GroupedQueries queries = {q, out, cache.dim, heads, heads / cache.kv_heads, start};
  const int64_t count = tokens * queries.repeat;
  if (count <= kDirectQueries) return cached_few(queries, count, cache, scale, pool);
  cached_many(queries, count, cache, scale, pool);
}

}  // namespace mlxcel::kernels
