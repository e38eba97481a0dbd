#include "ops/kv_cache.h"

#include <mlx/ops.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "ops/kernel_primitive.h"
#include "ops/stock.h"

namespace mlxcel::ops {
namespace {

constexpr size_t kAlignment = 64;

size_t block_bytes(const KvCacheShape& shape) {
  const auto elements = static_cast<size_t>(shape.kv_heads * shape.block_tokens * shape.head_dim);
  const size_t bytes = elements * base::dtype_size(shape.dtype);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::shared_ptr<void> allocate(size_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr)
    throw base::resource_error("no memory for a KV cache block of {} bytes", bytes);
  return {memory, std::free};
}

std::vector<void*> pointers(const std::vector<std::shared_ptr<void>>& blocks) {
  std::vector<void*> result;
  result.reserve(blocks.size());
  for (const auto& block : blocks) result.push_back(block.get());
  return result;
}

}  // namespace

int64_t KvCacheShape::bytes_per_token() const {
  return 2 * layers * kv_heads * head_dim * static_cast<int64_t>(base::dtype_size(dtype));
}

KvCache::KvCache(const KvCacheShape& shape)
    : shape_(shape), layers_(static_cast<size_t>(shape.layers)) {}

int64_t KvCache::append(int64_t count) {
  const int64_t start = tokens_;
  const auto blocks =
      static_cast<size_t>((start + count + shape_.block_tokens - 1) / shape_.block_tokens);
  const size_t bytes = block_bytes(shape_);
  for (Layer& layer : layers_) {
    while (layer.keys.size() < blocks) layer.keys.push_back(allocate(bytes));
    while (layer.values.size() < blocks) layer.values.push_back(allocate(bytes));
  }
  tokens_ += count;
  return start;
}

void KvCache::truncate(int64_t count) {
  tokens_ = std::min(tokens_, count);
  for (Layer& layer : layers_) {
    for (auto* stock : {&layer.stock_keys, &layer.stock_values}) {
      if (!*stock) continue;
      mx::Shape to = (*stock)->shape();
      to[0] = static_cast<int>(tokens_);
      *stock = mx::slice(**stock, mx::Shape(to.size(), 0), to);
    }
  }
}

int64_t KvCache::allocated_bytes() const {
  size_t blocks = 0;
  for (const Layer& layer : layers_) blocks += layer.keys.size() + layer.values.size();
  return static_cast<int64_t>(blocks * block_bytes(shape_));
}

mx::array cached_attention(const Context& context, KvCache& cache, int64_t layer, int64_t start,
                           const mx::array& q, const mx::array& k, const mx::array& v,
                           float scale) {
  KvCache::Layer& stored = cache.layers_.at(static_cast<size_t>(layer));
  const int64_t tokens = q.shape(0);
  const int64_t heads = q.shape(1);
  const KvCacheShape shape = cache.shape_;
  if (start + tokens > cache.tokens_)
    throw base::internal_error("no room for the tokens of this step in the KV cache");

  if (context.backend == Backend::kStock) {
    stored.stock_keys = stored.stock_keys ? mx::concatenate({*stored.stock_keys, k}, 0) : k;
    stored.stock_values = stored.stock_values ? mx::concatenate({*stored.stock_values, v}, 0) : v;
    return stock::causal_attention(q, *stored.stock_keys, *stored.stock_values, start, scale);
  }

  // The lambda owns the blocks: a cache may be dropped while the stream still runs.
  const mx::Shape out = {q.shape(0), static_cast<int>(heads * shape.head_dim)};
  return kernel_array("CachedAttention", {q, k, v}, out,
                      [shape, start, tokens, heads, scale, keys = stored.keys,
                       values = stored.values, pool = context.pool](const KernelArgs& args) {
                        const std::vector<void*> key_blocks = pointers(keys);
                        const std::vector<void*> value_blocks = pointers(values);
                        const kernels::KvBlocks blocks = {.keys = key_blocks,
                                                          .values = value_blocks,
                                                          .block_tokens = shape.block_tokens,
                                                          .kv_heads = shape.kv_heads,
                                                          .dim = shape.head_dim,
                                                          .dtype = shape.dtype};
                        const int64_t kv_stride = shape.kv_heads * shape.head_dim;
                        kernels::kv_store(blocks, start, tokens, {args.f32(1), kv_stride},
                                          {args.f32(2), kv_stride}, *pool);
                        kernels::cached_attention({args.f32(0), heads * shape.head_dim}, tokens,
                                                  start, heads, blocks, scale, args.outputs[0],
                                                  *pool);
                      });
}

}  // namespace mlxcel::ops
