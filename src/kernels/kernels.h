// The arithmetic of every model on the CPU. No MLX types: pointers, sizes and a thread pool.
//
// Activations are f32, rows are contiguous. Each function is compiled once for each instruction set
// and the best one that the machine has is chosen at run time; MLXCEL_CPU=avx3|avx2|sse4|scalar...
// forces one (see dispatch.h). Results do not depend on the number of threads. Pointers need the
// alignment of their element type only, except that data mapped from a checkpoint may be unaligned
// even for that. Sums are accumulated in f32 (several partial sums) unless stated otherwise.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "kernels/weight_view.h"

namespace mlxcel::kernels {

// What is done to each output of a linear layer after the dot product, in this order:
// + bias[out], activation, + residual[row, out].
enum class Activation { kNone, kGeluErf, kGeluTanh, kQuickGelu, kSilu };
struct Epilogue {
  const float* bias = nullptr;  // [out]
  Activation activation = Activation::kNone;
  const float* residual = nullptr;  // [rows, out]; may be the output itself
};

// y[rows, out] = x[rows, in] W^T, then the epilogue.
void linear(const float* x, int64_t rows, const WeightView& weight, const Epilogue& epilogue,
            float* y, base::ThreadPool& pool);

// Several matrices over the same x in one pass (q/k/v), each with its own output and epilogue.
struct LinearTask {
  WeightView weight;
  Epilogue epilogue;
  float* y;
};
void linear_many(const float* x, int64_t rows, std::span<const LinearTask> tasks,
                 base::ThreadPool& pool);

// y[rows, out] = silu(x W_gate^T) * (x W_up^T).
void linear_swiglu(const float* x, int64_t rows, const WeightView& gate, const WeightView& up,
                   float* y, base::ThreadPool& pool);

// y[count, in] = rows `ids` of the table, dequantised. Ids are in [0, out).
void embedding(const WeightView& table, std::span<const int32_t> ids, float* y,
               base::ThreadPool& pool);

// The whole matrix as f32 [out, in]; for tests and for back ends without these kernels.
void dequantize(const WeightView& weight, float* y, base::ThreadPool& pool);

// y = x / sqrt(mean(x^2) + eps) * weight over rows of `dim`. x and y may be the same.
void rms_norm(const float* x, int64_t rows, int64_t dim, const float* weight, float eps, float* y,
              base::ThreadPool& pool);

// y = (x - mean) / sqrt(variance + eps) * weight + bias, variance as the mean squared deviation.
void layer_norm(const float* x, int64_t rows, int64_t dim, const float* weight, const float* bias,
                float eps, float* y, base::ThreadPool& pool);

// y[i] = activation(x[i]); in place allowed.
void activate(Activation activation, const float* x, int64_t count, float* y,
              base::ThreadPool& pool);
void add(const float* a, const float* b, int64_t count, float* y, base::ThreadPool& pool);
void mul(const float* a, const float* b, int64_t count, float* y, base::ThreadPool& pool);

// Rotary position embedding of x[rows, heads, dim] (row stride `row_stride` floats, so that q or k
// may lie inside a fused qkv row), in place, from cos/sin tables [rows, table_width]: kSplitHalf:
// pairs (i, i + dim/2), table_width dim/2: (a, b) -> (a cos - b sin, b cos + a sin). kAdjacent:
// pairs (2i, 2i + 1), table_width dim/2, one angle for each pair. kInterleavedLanes: pairs (2i, 2i
// + 1), table_width dim: lane 2i turns by table[2i], lane 2i+1 by
//   table[2i + 1] (Mage-ViT: x' = x cos + rotate_half(x) sin with rotate_half(a, b) = (-b, a)).
enum class RopeLayout { kSplitHalf, kAdjacent, kInterleavedLanes };
void rope(float* x, int64_t rows, int64_t heads, int64_t dim, int64_t row_stride, const float* cos,
          const float* sin, RopeLayout layout, base::ThreadPool& pool);

// Attention of packed tokens inside blocks: token i of block [cu_seqlens[b], cu_seqlens[b + 1])
// attends to every token of its block (no causal order). q, k, v are [tokens, heads, dim] with row
// strides in floats; out is [tokens, heads * dim] contiguous. softmax(scale * q k^T) v, softmax in
// f32, memory bounded by O(tile^2), never by tokens^2.
struct PackedHeads {
  const float* data;
  int64_t row_stride;
};
void block_attention(PackedHeads q, PackedHeads k, PackedHeads v,
                     std::span<const int64_t> cu_seqlens, int64_t heads, int64_t dim, float scale,
                     float* out, base::ThreadPool& pool);

// The KV cache of one sequence in one layer, in blocks of `block_tokens` tokens: token t lies in
// block t / block_tokens at slot t % block_tokens. A block holds [kv_heads, block_tokens, dim] of
// `dtype` (F32, F16 or BF16).
struct KvBlocks {
  std::span<void* const> keys;
  std::span<void* const> values;
  int64_t block_tokens;
  int64_t kv_heads;
  int64_t dim;
  base::DType dtype;
};
// Stores k and v, [tokens, kv_heads, dim] with row strides, at positions start, start + 1, ...
void kv_store(const KvBlocks& cache, int64_t start, int64_t tokens, PackedHeads k, PackedHeads v,
              base::ThreadPool& pool);

// Causal attention over the cache for `tokens` queries at positions start ... start + tokens - 1
// (their own keys are stored already): query i sees positions 0 ... start + i. Query head h reads
// kv head h / (heads / kv_heads). out is [tokens, heads * dim].
void cached_attention(PackedHeads q, int64_t tokens, int64_t start, int64_t heads,
                      const KvBlocks& cache, float scale, float* out, base::ThreadPool& pool);

// y[rows, width] = softmax over each row, shifted by its maximum.
void softmax(const float* x, int64_t rows, int64_t width, float* y, base::ThreadPool& pool);

// Index of the largest value; the first of equals. NaN loses to every number; count >= 1.
int64_t argmax(const float* x, int64_t count);

}  // namespace mlxcel::kernels
