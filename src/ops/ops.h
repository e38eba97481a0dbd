// The operations that models are made of, as lazy MLX arrays. This is the one place that chooses
// between this project's CPU kernels and stock MLX operations.
//
// Activations are f32 and row-contiguous. Weights are matrices in the mapped checkpoint, used in
// place.
#pragma once

#include <mlx/array.h>

#include <span>
#include <vector>

#include "checkpoint/weights.h"
#include "kernels/kernels.h"
#include "ops/context.h"

namespace mlxcel::ops {

namespace mx = mlx::core;

using kernels::Activation;
using kernels::RopeLayout;

// A linear layer's parameters: W [out, in] and an optional bias [out]. Cheap to copy.
struct LinearParams {
  checkpoint::Matrix weight;
  checkpoint::Vector bias;  // may be null
};

// activation(x W^T + bias) + residual for x [rows, in] -> [rows, out].
struct LinearOptions {
  Activation activation = Activation::kNone;
  const mx::array* residual = nullptr;  // [rows, out]
};
mx::array linear(const Context& context, const mx::array& x, const LinearParams& params,
                 const LinearOptions& options = {});

// Several layers over the same x, e.g. q, k and v.
std::vector<mx::array> linear_many(const Context& context, const mx::array& x,
                                   std::span<const LinearParams> layers);

// silu(x gate^T) * (x up^T). The layers have no bias.
mx::array linear_swiglu(const Context& context, const mx::array& x, const LinearParams& gate,
                        const LinearParams& up);

// Rows of a table [vocab, dim] -> [ids, dim].
mx::array embedding(const Context& context, const checkpoint::Matrix& table,
                    std::span<const int32_t> ids);

// Norms over the last axis.
mx::array rms_norm(const Context& context, const mx::array& x, const checkpoint::Vector& weight,
                   float eps);
mx::array layer_norm(const Context& context, const mx::array& x, const checkpoint::Vector& weight,
                     const checkpoint::Vector& bias, float eps);

// Angles as tables [tokens, width]; see kernels::RopeLayout for the width.
struct RopeTables {
  mx::array cos;
  mx::array sin;
  RopeLayout layout;
};
// x [tokens, heads, dim], rotated.
mx::array rope(const Context& context, const mx::array& x, const RopeTables& tables);

// q, k, v [tokens, heads, dim] -> [tokens, heads * dim]. Tokens attend to all tokens of their own
// block; block b is [cu_seqlens[b], cu_seqlens[b + 1]).
mx::array block_attention(const Context& context, const mx::array& q, const mx::array& k,
                          const mx::array& v, std::span<const int64_t> cu_seqlens, float scale);

// [rows, width], softmax over each row.
mx::array softmax(const Context& context, const mx::array& x);

}  // namespace mlxcel::ops
