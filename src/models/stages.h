// Intermediate results by name, for comparing with a reference stage by stage.
#pragma once

#include <mlx/array.h>

#include <string>
#include <utility>
#include <vector>

namespace mlxcel::models {

namespace mx = mlx::core;

// Collects lazily; nothing is evaluated here.
struct Stages {
  std::vector<std::pair<std::string, mx::array>> arrays;
};

// Does nothing without a collector, which is the normal run.
inline void record(Stages* stages, std::string name, const mx::array& array) {
  if (stages != nullptr) stages->arrays.emplace_back(std::move(name), array);
}

}  // namespace mlxcel::models
