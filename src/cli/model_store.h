// Where checkpoints lie, and what a name after -m means.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mlxcel::cli {

struct StoredModel {
  std::string name;              // as -m takes it
  std::filesystem::path folder;  // holds config.json
};

// Folders that are searched: `extra` (if not empty), $MLXCEL_MODELS, ./models, the user's data
// folder
// (~/.local/share/mlxcel/models), and share/mlxcel/models beside an installed binary.
std::vector<std::filesystem::path> model_folders(const std::string& extra);

// Checkpoints in those folders, and in the Hugging Face cache as "organisation/name".
std::vector<StoredModel> list_models(const std::string& extra);

// A path to a folder as it is, else a name in list_models. Throws kNotFound saying where was
// searched.
std::filesystem::path find_model(const std::string& path_or_name);

}  // namespace mlxcel::cli
