// Completion for zsh: specs of _arguments, made from the table of verbs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_shells.h"
#include "cli/verbs.h"

namespace mlxcel::cli {
namespace {

// Loaded from $fpath the file is the body of _mlxcel itself; sourced, it only registers.
constexpr std::string_view kScript = R"sh(#compdef mlxcel
# zsh completion for mlxcel; put it as _mlxcel into a folder of $fpath

_mlxcel_models() {
  local -a names
  names=(${(f)"$(_call_program models mlxcel list --names 2> /dev/null)"})
  _alternative 'names:model:compadd -a names' 'folders:folder:_files -/'
}

_mlxcel() {
  local curcontext="$curcontext" state line
  local -a commands
  typeset -A opt_args
  _arguments -C \
    '(- *)'{-h,--help}'[Show help]' \
    '(- *)'{-V,--version}'[Print the version]' \
    '1: :->command' \
    '*:: :->arguments'
  case $state in
    command)
      commands=(
@COMMANDS@      )
      _describe -t commands command commands
      ;;
    arguments)
      case $words[1] in
@CASES@      esac
      ;;
  esac
}

if [[ $funcstack[1] == _mlxcel ]]; then
  _mlxcel "$@"
else
  compdef _mlxcel mlxcel
fi
)sh";

std::string in_quotes(std::string_view text) {
  return fmt::format("'{}'", replaced(text, "'", "'\\''"));
}

std::string escaped(std::string_view text) {  // a part of a spec
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string action(const Flag& flag) {
  if (!flag.choices().empty()) {
    return fmt::format("({})", fmt::join(flag.choices(), " "));
  }
  switch (flag.complete) {
    case Completion::kFile:
      return "_files";
    case Completion::kDirectory:
      return "_files -/";
    case Completion::kModel:
      return "_mlxcel_models";
    case Completion::kNone:
      break;
  }
  return " ";
}

// What can no longer follow once the flag was given, or "*" for a flag that may be repeated.
std::string exclusions(const Verb& verb, const Flag& flag) {
  if (flag.name == "--help") {
    return "(- *)";
  }
  if (flag.repeatable) {
    return "*";
  }
  std::vector<std::string_view> names = spellings(flag);
  for (const Flag& other : verb.flags) {
    if (other.name == flag.excludes) {
      const std::vector<std::string_view> excluded = spellings(other);
      names.insert(names.end(), excluded.begin(), excluded.end());
    }
  }
  return fmt::format("({})", fmt::join(names, " "));
}

// '(-m --model)-m+[Folder of ...]:MODEL:_mlxcel_models', one for each spelling.
std::vector<std::string> specs(const Verb& verb, const Flag& flag) {
  std::vector<std::string> all;
  for (const std::string_view name : spellings(flag)) {
    std::string spec = exclusions(verb, flag) + std::string(name);
    if (!flag.is_switch()) {
      spec += name == flag.name ? '=' : '+';  // the value may follow "=", or the letter directly
    }
    spec += fmt::format("[{}]", escaped(flag.help));
    if (!flag.is_switch()) {
      spec += fmt::format(":{}:{}", escaped(flag.placeholder), action(flag));
    }
    all.push_back(in_quotes(spec));
  }
  return all;
}

}  // namespace

std::string zsh_completion() {
  std::string commands;
  std::string cases;
  for (const Verb& verb : verb_table()) {
    if (!verb.hidden) {
      commands += fmt::format("        {}\n",
                              in_quotes(fmt::format("{}:{}", verb.name, escaped(verb.summary))));
    }
    std::vector<std::string> all;
    for (const Flag& flag : verb.flags) {
      const std::vector<std::string> some = specs(verb, flag);
      all.insert(all.end(), some.begin(), some.end());
    }
    for (size_t at = 0; at < verb.positionals.size(); ++at) {
      const Flag& flag = verb.positionals[at];
      all.push_back(in_quotes(fmt::format("{}:{}:{}", at + 1, escaped(flag.name), action(flag))));
    }
    cases +=
        fmt::format("        {})\n          _arguments -s -S \\\n            {}\n          ;;\n",
                    verb.name, fmt::join(all, " \\\n            "));
  }
  return replaced(replaced(kScript, "@CASES@", cases), "@COMMANDS@", commands);
}

}  // namespace mlxcel::cli
