// Bridges a plain CPU function into MLX's lazy graph: one primitive class for all kernels, so that
// an operation is its shapes and one lambda.
#pragma once

#include <mlx/array.h>

#include <functional>
#include <vector>

namespace mlxcel::ops {

namespace mx = mlx::core;

// Pointers of the evaluated inputs and of the allocated f32 outputs, in the order they were given.
struct KernelArgs {
  std::vector<const void*> inputs;
  std::vector<float*> outputs;

  const float* f32(size_t i) const { return static_cast<const float*>(inputs[i]); }
};
using KernelFunction = std::function<void(const KernelArgs&)>;

// Arrays of `shapes` (f32, row-major) that `function` computes from `inputs` when they are
// evaluated. Inputs must be row-contiguous once evaluated. `function` runs on the stream's thread,
// in order, and must not throw; it keeps alive by capture what it reads besides the inputs.
std::vector<mx::array> kernel_arrays(const char* name, std::vector<mx::array> inputs,
                                     std::vector<mx::Shape> shapes, KernelFunction function);
mx::array kernel_array(const char* name, std::vector<mx::array> inputs, mx::Shape shape,
                       KernelFunction function);

}  // namespace mlxcel::ops
