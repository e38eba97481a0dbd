#include "ops/stock.h"

#include <mlx/fast.h>
#include <mlx/ops.h>

#include <cmath>
#include <cstring>

#include "base/error.h"

namespace mlxcel::ops::stock {
namespace {

mx::Dtype mlx_dtype(base::DType dtype) {
  switch (dtype) {
    case base::DType::kF32:
      return mx::float32;
    case base::DType::kF16:
      return mx::float16;
    case base::DType::kBF16:
      return mx::bfloat16;
    case base::DType::kU32:
      return mx::uint32;
    default:
      throw base::internal_error("no MLX type for {}", base::dtype_name(dtype));
  }
}

// Copies `rows` x `columns` elements, which may lie unaligned in the mapping.
mx::array copy_in(const void* data, base::DType dtype, int64_t rows, int64_t columns) {
  mx::array result =
      mx::zeros({static_cast<int>(rows), static_cast<int>(columns)}, mlx_dtype(dtype));
  result.eval();
  std::memcpy(result.data<char>(), data,
              static_cast<size_t>(rows * columns) * base::dtype_size(dtype));
  return result;
}

mx::array heads_first(const mx::array& x) {
  return mx::expand_dims(mx::transpose(x, {1, 0, 2}), 0);
}

// [1, heads, tokens, dim] -> [tokens, heads * dim].
mx::array tokens_first(const mx::array& x) {
  const int tokens = x.shape(2);
  const int width = x.shape(1) * x.shape(3);
  return mx::reshape(mx::transpose(mx::squeeze(x, 0), {1, 0, 2}), {tokens, width});
}

}  // namespace

mx::array vector(const checkpoint::Vector& values) {
  return mx::array(values->data(), {static_cast<int>(values->size())}, mx::float32);
}

mx::array dense(const checkpoint::Matrix& matrix) {
  const kernels::WeightView& w = matrix.view;
  if (!w.quantized()) return mx::astype(copy_in(w.data, w.dtype, w.out, w.in), mx::float32);
  const int64_t groups = w.in / w.group_size;
  return mx::dequantize(copy_in(w.data, base::DType::kU32, w.out, w.in * w.bits / 32),
                        mx::astype(copy_in(w.scales, w.dtype, w.out, groups), mx::float32),
                        mx::astype(copy_in(w.biases, w.dtype, w.out, groups), mx::float32),
                        w.group_size, w.bits);
}

mx::array activate(Activation activation, const mx::array& x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return mx::multiply(x, mx::sigmoid(x));
    case Activation::kQuickGelu:
      return mx::multiply(x, mx::sigmoid(mx::multiply(mx::array(1.702F), x)));
    case Activation::kGeluErf: {
      const mx::array erf = mx::erf(mx::multiply(x, mx::array(static_cast<float>(M_SQRT1_2))));
      return mx::multiply(mx::multiply(x, mx::array(0.5F)), mx::add(erf, mx::array(1.0F)));
    }
    case Activation::kGeluTanh: {
      const mx::array cube = mx::multiply(mx::multiply(x, x), x);
      const mx::array inner = mx::multiply(mx::array(static_cast<float>(std::sqrt(2.0 / M_PI))),
                                           mx::add(x, mx::multiply(mx::array(0.044715F), cube)));
      return mx::multiply(mx::multiply(x, mx::array(0.5F)),
                          mx::add(mx::tanh(inner), mx::array(1.0F)));
    }
  }
  throw base::internal_error("unknown activation {}", static_cast<int>(activation));
}

mx::array linear(const mx::array& x, const LinearParams& params, const LinearOptions& options) {
  mx::array y = mx::matmul(x, mx::transpose(dense(params.weight)));
  if (params.bias) y = mx::add(y, vector(params.bias));
  y = activate(options.activation, y);
  return options.residual == nullptr ? y : mx::add(y, *options.residual);
}

mx::array embedding(const checkpoint::Matrix& table, std::span<const int32_t> ids) {
  const mx::array indices(ids.data(), {static_cast<int>(ids.size())}, mx::int32);
  return mx::take(dense(table), indices, 0);
}

mx::array rope(const mx::array& x, const RopeTables& tables) {
  const int tokens = x.shape(0);
  const int heads = x.shape(1);
  const int dim = x.shape(2);
  const mx::array cos = mx::expand_dims(tables.cos, 1);
  const mx::array sin = mx::expand_dims(tables.sin, 1);
  if (tables.layout == RopeLayout::kSplitHalf) {
    const auto halves = mx::split(x, 2, -1);
    return mx::concatenate(
        {mx::subtract(mx::multiply(halves[0], cos), mx::multiply(halves[1], sin)),
         mx::add(mx::multiply(halves[1], cos), mx::multiply(halves[0], sin))},
        -1);
  }
  const auto pairs = mx::split(mx::reshape(x, {tokens, heads, dim / 2, 2}), 2, -1);
  const mx::array rotated =
      mx::reshape(mx::concatenate({mx::negative(pairs[1]), pairs[0]}, -1), {tokens, heads, dim});
  const bool one_angle = tables.layout == RopeLayout::kAdjacent;
  const mx::array c = one_angle ? mx::repeat(cos, 2, -1) : cos;
  const mx::array s = one_angle ? mx::repeat(sin, 2, -1) : sin;
  return mx::add(mx::multiply(x, c), mx::multiply(rotated, s));
}

mx::array block_attention(const mx::array& q, const mx::array& k, const mx::array& v,
                          std::span<const int64_t> cu_seqlens, float scale) {
  std::vector<mx::array> parts;
  for (size_t b = 0; b + 1 < cu_seqlens.size(); ++b) {
    const int begin = static_cast<int>(cu_seqlens[b]);
    const int end = static_cast<int>(cu_seqlens[b + 1]);
    const auto part = [&](const mx::array& x) {
      return heads_first(
          mx::slice(x, mx::Shape{begin, 0, 0}, mx::Shape{end, x.shape(1), x.shape(2)}));
    };
    const mx::array scores =
        mx::multiply(mx::matmul(part(q), mx::transpose(part(k), {0, 1, 3, 2})), mx::array(scale));
    parts.push_back(tokens_first(mx::matmul(mx::softmax(scores, -1, true), part(v))));
  }
  return mx::concatenate(parts, 0);
}

mx::array causal_attention(const mx::array& q, const mx::array& k, const mx::array& v,
                           int64_t start, float scale) {
  const int tokens = q.shape(0);
  const int total = k.shape(0);
  const int group = q.shape(1) / k.shape(1);
  const mx::array keys = mx::repeat(heads_first(k), group, 1);
  const mx::array values = mx::repeat(heads_first(v), group, 1);
  const mx::array rows =
      mx::add(mx::expand_dims(mx::arange(tokens), 1), mx::array(static_cast<int>(start)));
  const mx::array seen = mx::greater_equal(rows, mx::expand_dims(mx::arange(total), 0));
  const mx::array scores =
      mx::multiply(mx::matmul(heads_first(q), mx::transpose(keys, {0, 1, 3, 2})), mx::array(scale));
  const mx::array masked =
      mx::where(seen, scores, mx::array(-std::numeric_limits<float>::infinity()));
  return tokens_first(mx::matmul(mx::softmax(masked, -1, true), values));
}

}  // namespace mlxcel::ops::stock
