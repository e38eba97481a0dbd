// The generators behind completion_script(), one per shell, and what they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/flag.h"

namespace mlxcel::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// "-m", "--model": every way to write a flag.
std::vector<std::string_view> spellings(const Flag& flag);

// Every `from` in the text replaced by `to`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

}  // namespace mlxcel::cli
