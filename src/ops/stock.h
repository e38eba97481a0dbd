// The same operations from stock MLX parts: what GPU back ends run, and the second definition that
// the CPU kernels are compared with.
#pragma once

#include "ops/ops.h"

namespace mlxcel::ops::stock {

mx::array vector(const checkpoint::Vector& values);
// A copy of the matrix as MLX sees it: dense f32 [out, in].
mx::array dense(const checkpoint::Matrix& matrix);

mx::array activate(Activation activation, const mx::array& x);
mx::array linear(const mx::array& x, const LinearParams& params, const LinearOptions& options);
mx::array embedding(const checkpoint::Matrix& table, std::span<const int32_t> ids);
mx::array rope(const mx::array& x, const RopeTables& tables);
mx::array block_attention(const mx::array& q, const mx::array& k, const mx::array& v,
                          std::span<const int64_t> cu_seqlens, float scale);
// q [tokens, heads, dim] at positions start...; k, v [start + tokens, kv_heads, dim].
mx::array causal_attention(const mx::array& q, const mx::array& k, const mx::array& v,
                           int64_t start, float scale);

}  // namespace mlxcel::ops::stock
