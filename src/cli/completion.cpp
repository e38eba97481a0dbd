// Picks the generator of a shell.
#include "cli/completion.h"

#include "base/error.h"
#include "cli/completion_shells.h"

namespace mlxcel::cli {

std::vector<std::string_view> spellings(const Flag& flag) {
  return flag.short_name.empty() ? std::vector{flag.name} : std::vector{flag.short_name, flag.name};
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool found = text.substr(at).starts_with(from);
    out += found ? to : text.substr(at, 1);
    at += found ? from.size() : 1;
  }
  return out;
}

std::string completion_script(std::string_view shell) {
  if (shell == "bash") {
    return bash_completion();
  }
  if (shell == "zsh") {
    return zsh_completion();
  }
  if (shell == "fish") {
    return fish_completion();
  }
  throw base::internal_error("no completion script for shell '{}'", shell);
}

}  // namespace mlxcel::cli
