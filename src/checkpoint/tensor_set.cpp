#include "checkpoint/tensor_set.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"

namespace mlxcel::checkpoint {
namespace {

namespace fs = std::filesystem;
using base::bad_input;

constexpr size_t kMaxIndexBytes = size_t{64} << 20;

// A file of the same folder: no way out of it, nothing that a message or the system would cut
// short.
bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         base::is_plain(name) && name.find_first_of("/\\") == std::string::npos;
}

// File of each tensor, as the index says.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const base::Json document =
      base::parse_json(base::read_file(path, kMaxIndexBytes), path.string());
  const base::JsonField index(document, path.string());
  const base::JsonField map = index.at("weight_map");
  if (!map.value().is_object()) throw bad_input("{} is not an object", map.where());
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : map.value().get_ref<const base::Json::object_t&>()) {
    const std::string where = fmt::format("{}: tensor '{}'", path.string(), base::printable(name));
    const std::string file = base::JsonField(value, where + " in 'weight_map'").as_string();
    if (!is_plain_file_name(file)) {
      throw bad_input("{} lies in '{}', expected the name of a file in the same folder", where,
                      base::printable(file));
    }
    files[name] = file;
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
      throw base::not_found(
          "{}: neither model.safetensors nor model.safetensors.index.json is there",
          folder.string());
    }
    for (Tensor& tensor : open_safetensors(single)) set.add(std::move(tensor), single.string());
    return set;
  }

  const auto files = read_index(index);
  std::set<std::string> shards;
  for (const auto& [name, file] : files) shards.insert(file);
  for (const std::string& shard : shards) {
    const fs::path path = folder / shard;
    if (!fs::exists(path, ignored)) {
      throw base::not_found("{}: no such file, though {} places tensors there", path.string(),
                            index.string());
    }
  }
  for (const std::string& shard : shards) {
    const fs::path path = folder / shard;
    for (Tensor& tensor : open_safetensors(path)) {
      const auto named = files.find(tensor.name);
      if (named == files.end() || named->second != shard) {
        throw bad_input("{}: holds tensor '{}', which {} does not place there", path.string(),
                        tensor.name, index.string());
      }
      set.add(std::move(tensor), path.string());
    }
  }
  for (const auto& [name, file] : files) {
    if (!set.contains(name)) {
      throw bad_input("{}: tensor '{}' is missing, though {} places it there",
                      (folder / file).string(), base::printable(name), index.string());
    }
  }
  return set;
}

}  // namespace mlxcel::checkpoint
