#include "nn/layers.h"

namespace mlxcel::nn {

Linear::Linear(const checkpoint::Weights& weights, const std::string& name) {
  params_.weight = weights.matrix(name + ".weight");
  if (weights.has(name + ".bias")) params_.bias = weights.vector(name + ".bias");
}

RmsNorm::RmsNorm(const checkpoint::Weights& weights, const std::string& name, float eps)
    : weight_(weights.vector(name + ".weight")), eps_(eps) {}

LayerNorm::LayerNorm(const checkpoint::Weights& weights, const std::string& name, float eps)
    : weight_(weights.vector(name + ".weight")), bias_(weights.vector(name + ".bias")), eps_(eps) {}

}  // namespace mlxcel::nn
