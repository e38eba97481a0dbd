// What an operation needs besides its operands, handed down explicitly from the program's entry.
#pragma once

#include "base/thread_pool.h"

namespace mlxcel::ops {

enum class Backend {
  kKernels,  // this project's CPU kernels, as MLX primitives
  kStock,    // MLX's own operations: GPU back ends, and the definition that the kernels are tested
             // against
};

// Cheap to copy; the pool must outlive every array built with it.
struct Context {
  Backend backend = Backend::kKernels;
  base::ThreadPool* pool = nullptr;
};

}  // namespace mlxcel::ops
