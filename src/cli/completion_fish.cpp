// Completion for fish: one `complete` line for each flag of each verb.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_shells.h"
#include "cli/verbs.h"

namespace mlxcel::cli {
namespace {

constexpr std::string_view kHead =
    R"sh(# fish completion for mlxcel; put it into ~/.config/fish/completions

function __mlxcel_needs_command
    test (count (commandline -opc)) -eq 1
end

function __mlxcel_command_is -a name
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = "$name"
end

function __mlxcel_models
    mlxcel list --names 2> /dev/null
    __fish_complete_directories
end

complete -c mlxcel -f
complete -c mlxcel -n __mlxcel_needs_command -s h -l help -d 'Show help'
complete -c mlxcel -n __mlxcel_needs_command -s V -l version -d 'Print the version'
)sh";

std::string in_quotes(std::string_view text) {
  return fmt::format("'{}'", replaced(replaced(text, "\\", "\\\\"), "'", "\\'"));
}

std::string action(const Flag& flag) {
  if (flag.is_switch()) {
    return "";
  }
  if (!flag.choices().empty()) {
    return fmt::format(" -x -a '{}'", fmt::join(flag.choices(), " "));
  }
  switch (flag.complete) {
    case Completion::kFile:
      return " -r -F";
    case Completion::kDirectory:
      return " -x -a '(__fish_complete_directories)'";
    case Completion::kModel:
      return " -x -a '(__mlxcel_models)'";
    case Completion::kNone:
      break;
  }
  return " -x";
}

}  // namespace

std::string fish_completion() {
  std::string out(kHead);
  for (const Verb& verb : verb_table()) {
    if (!verb.hidden) {
      out += fmt::format("complete -c mlxcel -n __mlxcel_needs_command -a {} -d {}\n", verb.name,
                         in_quotes(verb.summary));
    }
  }
  for (const Verb& verb : verb_table()) {
    const std::string begin =
        fmt::format("complete -c mlxcel -n '__mlxcel_command_is {}'", verb.name);
    for (const Flag& flag : verb.positionals) {
      out += fmt::format("{} -a '{}' -d {}\n", begin, fmt::join(flag.choices(), " "),
                         in_quotes(flag.help));
    }
    for (const Flag& flag : verb.flags) {
      const std::string letter =
          flag.short_name.empty() ? "" : fmt::format(" -s {}", flag.short_name.substr(1));
      out += fmt::format("{}{} -l {}{} -d {}\n", begin, letter, flag.name.substr(2), action(flag),
                         in_quotes(flag.help));
    }
  }
  return out;
}

}  // namespace mlxcel::cli
