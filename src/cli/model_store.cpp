#include "cli/model_store.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace mlxcel::cli {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path home() { return environment("HOME"); }

bool is_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "config.json", ignored);
}

std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// .../hub/models--org--name/snapshots/REVISION
void add_hugging_face_cache(std::vector<StoredModel>& models) {
  std::string root = environment("HF_HUB_CACHE");
  if (root.empty()) {
    const std::string hf_home = environment("HF_HOME");
    root = (hf_home.empty() ? home() / ".cache" / "huggingface" : fs::path(hf_home)) / "hub";
  }
  constexpr std::string_view kPrefix = "models--";
  for (const fs::path& folder : subfolders(root)) {
    const std::string file = folder.filename().string();
    if (!file.starts_with(kPrefix)) continue;
    const std::string_view full = std::string_view(file).substr(kPrefix.size());
    const size_t dashes = full.find("--");
    const std::string name =
        dashes == std::string_view::npos
            ? std::string(full)
            : fmt::format("{}/{}", full.substr(0, dashes), full.substr(dashes + 2));
    for (const fs::path& snapshot : subfolders(folder / "snapshots")) {
      if (is_checkpoint(snapshot)) models.push_back({name, snapshot});
    }
  }
}

}  // namespace

std::vector<fs::path> model_folders(const std::string& extra) {
  std::vector<fs::path> folders;
  if (!extra.empty()) folders.emplace_back(extra);
  if (const std::string named = environment("MLXCEL_MODELS"); !named.empty())
    folders.emplace_back(named);
  folders.emplace_back("models");
  const std::string data = environment("XDG_DATA_HOME");
  folders.push_back((data.empty() ? home() / ".local" / "share" : fs::path(data)) / "mlxcel" /
                    "models");
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(binary.parent_path().parent_path() / "share" / "mlxcel" / "models");
  return folders;
}

std::vector<StoredModel> list_models(const std::string& extra) {
  std::vector<StoredModel> models;
  for (const fs::path& folder : model_folders(extra)) {
    for (const fs::path& candidate : subfolders(folder)) {
      const std::string name = candidate.filename().string();
      const bool hidden = std::any_of(models.begin(), models.end(),
                                      [&](const StoredModel& m) { return m.name == name; });
      if (!hidden && is_checkpoint(candidate)) models.push_back({name, candidate});
    }
  }
  add_hugging_face_cache(models);
  return models;
}

fs::path find_model(const std::string& path_or_name) {
  std::error_code ignored;
  if (fs::is_directory(path_or_name, ignored)) return path_or_name;
  for (const StoredModel& model : list_models("")) {
    if (model.name == path_or_name) return model.folder;
  }
  throw base::not_found("model '{}' is neither a folder nor a name that `mlxcel list` shows",
                        path_or_name);
}

}  // namespace mlxcel::cli
