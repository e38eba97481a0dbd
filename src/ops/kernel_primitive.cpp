#include "ops/kernel_primitive.h"

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>

#include <utility>

#include "base/error.h"

namespace mlxcel::ops {
namespace {

class KernelPrimitive : public mx::Primitive {
 public:
  KernelPrimitive(mx::Stream stream, const char* name, KernelFunction function)
      : Primitive(stream), name_(name), function_(std::move(function)) {}

  const char* name() const override { return name_; }

  void eval_cpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    KernelArgs args;
    for (const mx::array& input : inputs) {
      if (!input.flags().row_contiguous)
        throw base::internal_error("{}: an input is not contiguous", name_);
      args.inputs.push_back(input.data<void>());
    }
    for (mx::array& output : outputs) {
      output.set_data(mx::allocator::malloc(output.nbytes()));
      args.outputs.push_back(output.data<float>());
    }
    // The scheduler keeps inputs and outputs alive until the stream has passed this task.
    auto& encoder = mx::cpu::get_command_encoder(stream());
    for (const mx::array& input : inputs) encoder.set_input_array(input);
    for (mx::array& output : outputs) encoder.set_output_array(output);
    encoder.dispatch([function = function_, args = std::move(args)] { function(args); });
  }

  void eval_gpu(const std::vector<mx::array>& /*inputs*/,
                std::vector<mx::array>& /*outputs*/) override {
    throw base::internal_error("{}: this operation runs on the CPU only", name_);
  }

 private:
  const char* name_;
  KernelFunction function_;
};

}  // namespace

std::vector<mx::array> kernel_arrays(const char* name, std::vector<mx::array> inputs,
                                     std::vector<mx::Shape> shapes, KernelFunction function) {
  auto primitive = std::make_shared<KernelPrimitive>(mx::default_stream(mx::Device::cpu), name,
                                                     std::move(function));
  const std::vector<mx::Dtype> dtypes(shapes.size(), mx::float32);
  return mx::array::make_arrays(std::move(shapes), dtypes, primitive, inputs);
}

mx::array kernel_array(const char* name, std::vector<mx::array> inputs, mx::Shape shape,
                       KernelFunction function) {
  return kernel_arrays(name, std::move(inputs), {std::move(shape)}, std::move(function)).front();
}

}  // namespace mlxcel::ops
