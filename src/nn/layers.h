// Layers as const callables that find their weights by name. They hold no activations and no state.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/weights.h"
#include "ops/ops.h"

namespace mlxcel::nn {

namespace mx = mlx::core;

// x [rows, in] -> [rows, out]. `name` is that of the layer: NAME.weight, and NAME.bias when it is
// there.
class Linear {
 public:
  Linear(const checkpoint::Weights& weights, const std::string& name);

  mx::array operator()(const ops::Context& context, const mx::array& x,
                       const ops::LinearOptions& options = {}) const {
    return ops::linear(context, x, params_, options);
  }
  const ops::LinearParams& params() const { return params_; }

 private:
  ops::LinearParams params_;
};

class RmsNorm {
 public:
  RmsNorm(const checkpoint::Weights& weights, const std::string& name, float eps);
  mx::array operator()(const ops::Context& context, const mx::array& x) const {
    return ops::rms_norm(context, x, weight_, eps_);
  }

 private:
  checkpoint::Vector weight_;
  float eps_;
};

class LayerNorm {
 public:
  LayerNorm(const checkpoint::Weights& weights, const std::string& name, float eps);
  mx::array operator()(const ops::Context& context, const mx::array& x) const {
    return ops::layer_norm(context, x, weight_, bias_, eps_);
  }

 private:
  checkpoint::Vector weight_;
  checkpoint::Vector bias_;
  float eps_;
};

}  // namespace mlxcel::nn
