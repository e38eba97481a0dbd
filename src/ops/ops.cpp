#include "ops/ops.h"

#include <mlx/fast.h>
#include <mlx/ops.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "ops/kernel_primitive.h"
#include "ops/stock.h"

namespace mlxcel::ops {
namespace {

bool use_kernels(const Context& context) { return context.backend == Backend::kKernels; }

int64_t rows_of(const mx::array& x) { return static_cast<int64_t>(x.size()) / x.shape(-1); }

mx::Shape with_last(const mx::array& x, int64_t width) {
  mx::Shape shape = x.shape();
  shape.back() = static_cast<int>(width);
  return shape;
}

void check_input(const mx::array& x, const checkpoint::Matrix& weight) {
  if (x.shape(-1) != weight.view.in) {
    throw base::internal_error("linear layer of width {} got rows of {}", weight.view.in,
                               x.shape(-1));
  }
}

const float* data_or_null(const checkpoint::Vector& vector) {
  return vector ? vector->data() : nullptr;
}

}  // namespace

mx::array linear(const Context& context, const mx::array& x, const LinearParams& params,
                 const LinearOptions& options) {
  check_input(x, params.weight);
  if (!use_kernels(context)) return stock::linear(x, params, options);
  std::vector<mx::array> inputs = {x};
  if (options.residual != nullptr) inputs.push_back(*options.residual);
  const int64_t rows = rows_of(x);
  return kernel_array(
      "Linear", std::move(inputs), with_last(x, params.weight.view.out),
      [params, rows, activation = options.activation, pool = context.pool](const KernelArgs& args) {
        const kernels::Epilogue epilogue = {
            .bias = data_or_null(params.bias),
            .activation = activation,
            .residual = args.inputs.size() > 1 ? args.f32(1) : nullptr};
        kernels::linear(args.f32(0), rows, params.weight.view, epilogue, args.outputs[0], *pool);
      });
}

std::vector<mx::array> linear_many(const Context& context, const mx::array& x,
                                   std::span<const LinearParams> layers) {
  std::vector<mx::Shape> shapes;
  for (const LinearParams& layer : layers) {
    check_input(x, layer.weight);
    shapes.push_back(with_last(x, layer.weight.view.out));
  }
  if (!use_kernels(context)) {
    std::vector<mx::array> outputs;
    for (const LinearParams& layer : layers) outputs.push_back(stock::linear(x, layer, {}));
    return outputs;
  }
  std::vector<LinearParams> owned(layers.begin(), layers.end());
  return kernel_arrays(
      "LinearMany", {x}, std::move(shapes),
      [owned = std::move(owned), rows = rows_of(x), pool = context.pool](const KernelArgs& args) {
        std::vector<kernels::LinearTask> tasks;
        for (size_t i = 0; i < owned.size(); ++i) {
          tasks.push_back(
              {owned[i].weight.view, {.bias = data_or_null(owned[i].bias)}, args.outputs[i]});
        }
        kernels::linear_many(args.f32(0), rows, tasks, *pool);
      });
}

mx::array linear_swiglu(const Context& context, const mx::array& x, const LinearParams& gate,
                        const LinearParams& up) {
  check_input(x, gate.weight);
  check_input(x, up.weight);
  if (gate.bias || up.bias) throw base::internal_error("a gated layer with a bias");
  if (!use_kernels(context)) {
    return mx::multiply(stock::linear(x, gate, {.activation = Activation::kSilu}),
                        stock::linear(x, up, {}));
  }
  return kernel_array("LinearSwiglu", {x}, with_last(x, gate.weight.view.out),
                      [gate, up, rows = rows_of(x), pool = context.pool](const KernelArgs& args) {
                        kernels::linear_swiglu(args.f32(0), rows, gate.weight.view, up.weight.view,
                                               args.outputs[0], *pool);
                      });
}

mx::array embedding(const Context& context, const checkpoint::Matrix& table,
                    std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    if (id < 0 || id >= table.view.out) {
      throw base::bad_input("token id {} is outside the model's vocabulary of {}", id,
                            table.view.out);
    }
  }
  if (!use_kernels(context)) return stock::embedding(table, ids);
  std::vector<int32_t> owned(ids.begin(), ids.end());
  const mx::Shape shape = {static_cast<int>(ids.size()), static_cast<int>(table.view.in)};
  return kernel_array(
      "Embedding", {}, shape,
      [table, owned = std::move(owned), pool = context.pool](const KernelArgs& args) {
        kernels::embedding(table.view, owned, args.outputs[0], *pool);
      });
}

mx::array rms_norm(const Context& context, const mx::array& x, const checkpoint::Vector& weight,
                   float eps) {
  if (!use_kernels(context)) return mx::fast::rms_norm(x, stock::vector(weight), eps);
  return kernel_array(
      "RmsNorm", {x}, x.shape(),
      [weight, eps, rows = rows_of(x), pool = context.pool](const KernelArgs& args) {
        kernels::rms_norm(args.f32(0), rows, static_cast<int64_t>(weight->size()), weight->data(),
                          eps, args.outputs[0], *pool);
      });
}

mx::array layer_norm(const Context& context, const mx::array& x, const checkpoint::Vector& weight,
                     const checkpoint::Vector& bias, float eps) {
  if (!use_kernels(context))
    return mx::fast::layer_norm(x, stock::vector(weight), stock::vector(bias), eps);
  return kernel_array(
      "LayerNorm", {x}, x.shape(),
      [weight, bias, eps, rows = rows_of(x), pool = context.pool](const KernelArgs& args) {
        kernels::layer_norm(args.f32(0), rows, static_cast<int64_t>(weight->size()), weight->data(),
                            bias->data(), eps, args.outputs[0], *pool);
      });
}

mx::array rope(const Context& context, const mx::array& x, const RopeTables& tables) {
  if (!use_kernels(context)) return stock::rope(x, tables);
  const int64_t tokens = x.shape(0);
  const int64_t heads = x.shape(1);
  const int64_t dim = x.shape(2);
  return kernel_array(
      "Rope", {x, tables.cos, tables.sin}, x.shape(),
      [tokens, heads, dim, layout = tables.layout, pool = context.pool](const KernelArgs& args) {
        std::copy_n(args.f32(0), tokens * heads * dim, args.outputs[0]);
        kernels::rope(args.outputs[0], tokens, heads, dim, heads * dim, args.f32(1), args.f32(2),
                      layout, *pool);
      });
}

mx::array block_attention(const Context& context, const mx::array& q, const mx::array& k,
                          const mx::array& v, std::span<const int64_t> cu_seqlens, float scale) {
  if (!use_kernels(context)) return stock::block_attention(q, k, v, cu_seqlens, scale);
  const int64_t heads = q.shape(1);
  const int64_t dim = q.shape(2);
  const mx::Shape shape = {q.shape(0), static_cast<int>(heads * dim)};
  std::vector<int64_t> blocks(cu_seqlens.begin(), cu_seqlens.end());
  return kernel_array(
      "BlockAttention", {q, k, v}, shape,
      [heads, dim, scale, blocks = std::move(blocks), pool = context.pool](const KernelArgs& args) {
        const int64_t stride = heads * dim;
        kernels::block_attention({args.f32(0), stride}, {args.f32(1), stride},
                                 {args.f32(2), stride}, blocks, heads, dim, scale, args.outputs[0],
                                 *pool);
      });
}

mx::array softmax(const Context& context, const mx::array& x) {
  if (!use_kernels(context)) return mx::softmax(x, -1, true);
  return kernel_array(
      "Softmax", {x}, x.shape(),
      [rows = rows_of(x), width = x.shape(-1), pool = context.pool](const KernelArgs& args) {
        kernels::softmax(args.f32(0), rows, width, args.outputs[0], *pool);
      });
}

}  // namespace mlxcel::ops
