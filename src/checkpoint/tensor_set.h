// All tensors of a checkpoint folder: one file, or shards named by an index.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace mlxcel::checkpoint {

class TensorSet {
 public:
  // Reads model.safetensors, or the shards that model.safetensors.index.json names (each must be
  // present, and hold exactly the tensors that the index gives it). Throws kNotFound when the
  // folder holds neither.
  static TensorSet open(const std::filesystem::path& folder);

  // From tensors in memory, e.g. random weights. Names must differ.
  static TensorSet from_tensors(std::vector<Tensor> tensors, std::filesystem::path folder);

  // nullptr when there is none of this name. Valid as long as the set.
  const Tensor* find(const std::string& name) const;
  bool contains(const std::string& name) const { return find(name) != nullptr; }

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  const std::filesystem::path& folder() const { return folder_; }
  uint64_t total_bytes() const;

 private:
  void add(Tensor tensor, const std::string& file);

  std::filesystem::path folder_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace mlxcel::checkpoint
