// Completion scripts for shells, written from the table of verbs.
#pragma once

#include <string>
#include <string_view>

namespace mlxcel::cli {

// The script for "bash" (3.2 and later), "zsh" or "fish"; kInternal for another name. Names of
// models come from `mlxcel list --names`, asked for by the shell when they are needed.
std::string completion_script(std::string_view shell);

}  // namespace mlxcel::cli
