// The KV cache of one sequence, grown block by block, and the attention that reads it. The buffers
// belong to the cache, never to an MLX array, so writing to them in the order of the stream neither
// moves nor copies them.
#pragma once

#include <mlx/array.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/kernels.h"
#include "ops/context.h"

namespace mlxcel::ops {

namespace mx = mlx::core;

struct KvCacheShape {
  int64_t layers = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  base::DType dtype = base::DType::kF32;  // F32, F16 or BF16
  int64_t block_tokens = 64;

  // Bytes that one token needs in all layers.
  int64_t bytes_per_token() const;
};

class KvCache {
 public:
  explicit KvCache(const KvCacheShape& shape);

  // Tokens that are stored, or will be once the arrays built so far are evaluated.
  int64_t tokens() const { return tokens_; }

  // Makes room for `count` more tokens and returns the position of the first. Throws kResource when
  // memory does not suffice. To be called once before the layers of a step run.
  int64_t append(int64_t count);

  // Forgets everything from position `count` on; the blocks stay for what comes next.
  void truncate(int64_t count);

  const KvCacheShape& shape() const { return shape_; }
  int64_t allocated_bytes() const;

 private:
  friend mx::array cached_attention(const Context& context, KvCache& cache, int64_t layer,
                                    int64_t start, const mx::array& q, const mx::array& k,
                                    const mx::array& v, float scale);

  struct Layer {
    std::vector<std::shared_ptr<void>> keys;
    std::vector<std::shared_ptr<void>> values;
    std::optional<mx::array> stock_keys;  // for the stock back end: [tokens, kv_heads, head_dim]
    std::optional<mx::array> stock_values;
  };

  KvCacheShape shape_;
  std::vector<Layer> layers_;
  int64_t tokens_ = 0;
};

// Stores k and v [tokens, kv_heads, dim] at positions start... of a layer, then lets q [tokens,
// heads, dim] attend causally to everything up to each token's own position -> [tokens, heads *
// dim]. The result must be evaluated: the store happens then.
mx::array cached_attention(const Context& context, KvCache& cache, int64_t layer, int64_t start,
                           const mx::array& q, const mx::array& k, const mx::array& v, float scale);

}  // namespace mlxcel::ops
