#include "checkpoint/tensor_set.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace mlxcel::checkpoint {
namespace {

namespace fs = std::filesystem;
using base::bad_input;

// File of each tensor, as the index says. Names of files must be plain: no way out of the folder.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const base::Json document = base::load_json(path);
  const base::JsonField index(document, path.string());
  const base::JsonField map = index.at("weight_map");
  if (!map.value().is_object()) throw bad_input("{} is not an object", map.where());
  std::map<std::string, std::string> files;
  for (const auto& item : map.value().items()) {
    const std::string file = base::JsonField(item.value(), path.string()).as_string();
    if (file.empty() || file.find('/') != std::string::npos || file.find('\\') != std::string::npos || file == "..") {
      throw bad_input("{}: tensor '{}' lies in '{}', expected the name of a file in the same folder", path.string(),
                      item.key(), file);
    }
    files[item.key()] = file;
  }
  return files;
}

}  // namespace

const Tensor* TensorSet::find(const std::string& name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

uint64_t TensorSet::total_bytes() const {
  uint64_t total = 0;
  for (const auto& [name, tensor] : tensors_) total += tensor.data.size();
  return total;
}

void TensorSet::add(Tensor tensor, const std::string& file) {
  const std::string name = tensor.name;
  if (!tensors_.emplace(name, std::move(tensor)).second) {
    throw bad_input("{}: tensor '{}' stands in more than one file", file, name);
  }
}

TensorSet TensorSet::from_tensors(std::vector<Tensor> tensors, fs::path folder) {
  TensorSet set;
  set.folder_ = std::move(folder);
  for (Tensor& tensor : tensors) set.add(std::move(tensor), set.folder_.string());
  return set;
}

TensorSet TensorSet::open(const fs::path& folder) {
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  TensorSet set;
  set.folder_ = folder;
  std::error_code ignored;
  if (!fs::exists(index, ignored)) {
    if (!fs::exists(single, ignored)) {
      throw base::not_found("{}: neither model.safetensors nor model.safetensors.index.json is there", folder.string());
    }
    for (Tensor& tensor : open_safetensors(single)) set.add(std::move(tensor), single.string());
    return set;
  }

  const auto files = read_index(index);
  std::set<std::string> shards;
  for (const auto& [name, file] : files) shards.insert(file);
  for (const std::string& shard : shards) {
    const fs::path path = folder / shard;
    for (Tensor& tensor : open_safetensors(path)) {
      const auto named = files.find(tensor.name);
      if (named == files.end() || named->second != shard) {
        throw bad_input("{}: holds tensor '{}', which {} does not place there", path.string(), tensor.name,
                        index.string());
      }
      set.add(std::move(tensor), path.string());
    }
  }
  for (const auto& [name, file] : files) {
    if (!set.contains(name)) {
      throw bad_input("{}: tensor '{}' is missing, though {} places it there", (folder / file).string(), name,
                      index.string());
    }
  }
  return set;
}

}  // namespace mlxcel::checkpoint
