// Completion for bash: one script with slots that the table of verbs fills.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_shells.h"
#include "cli/verbs.h"

namespace mlxcel::cli {
namespace {

// Works in bash 3.2 (macOS): no mapfile, and compopt only where it exists.
constexpr std::string_view kScript =
    R"sh(# bash completion for mlxcel; load it with: source <(mlxcel completion bash)

# Offers the words in $1 that begin with $cur.
_mlxcel_words() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$cur")
}

# Offers files (-f) or directories (-d). What compgen cannot read (quotes, ~) is left to readline.
_mlxcel_paths() {
  local path
  compopt -o filenames 2> /dev/null
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$cur")
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then compopt -o default 2> /dev/null; fi
}

_mlxcel_models() {
  local name
  _mlxcel_paths -d
  while IFS= read -r name; do
    if [[ $name == "$cur"* ]]; then COMPREPLY+=("$name"); fi
  done < <("${COMP_WORDS[0]}" list --names 2> /dev/null)
}

_mlxcel() {
  local cur flag flags arguments prefix=""
  COMPREPLY=()
  cur="${COMP_WORDS[COMP_CWORD]}"
  if [[ $COMP_CWORD -eq 1 ]]; then
    _mlxcel_words '@COMMANDS@ --help --version'
    return
  fi
  # The flag whose value is typed: the word before, also across an "=" that bash split off.
  flag="${COMP_WORDS[COMP_CWORD-1]}"
  if [[ $cur == "=" ]]; then
    cur=""
  elif [[ $flag == "=" ]]; then
    flag="${COMP_WORDS[COMP_CWORD-2]}"
  elif [[ $cur == --*=* ]]; then
    flag="${cur%%=*}"
    prefix="$flag="
    cur="${cur#*=}"
  fi
  case "${COMP_WORDS[1]}:$flag" in
@VALUES@    *)
      flags="" arguments=""
      case "${COMP_WORDS[1]}" in
@FLAGS@      esac
      if [[ $cur == -* || -z $arguments ]]; then arguments="$flags"; fi
      _mlxcel_words "$arguments" ;;
  esac
  if [[ -n $prefix ]]; then COMPREPLY=("${COMPREPLY[@]/#/$prefix}"); fi
}

complete -F _mlxcel mlxcel
)sh";

std::string action(const Flag& flag) {
  if (!flag.choices().empty()) {
    return fmt::format("_mlxcel_words '{}'", fmt::join(flag.choices(), " "));
  }
  switch (flag.complete) {
    case Completion::kFile:
      return "_mlxcel_paths -f";
    case Completion::kDirectory:
      return "_mlxcel_paths -d";
    case Completion::kModel:
      return "_mlxcel_models";
    case Completion::kNone:
      break;
  }
  return ":";
}

}  // namespace

std::string bash_completion() {
  std::string values;
  std::string flags;
  for (const Verb& verb : verb_table()) {
    std::vector<std::string_view> names;
    for (const Flag& flag : verb.flags) {
      std::vector<std::string> patterns;
      for (const std::string_view name : spellings(flag)) {
        names.push_back(name);
        patterns.push_back(fmt::format("{}:{}", verb.name, name));
      }
      if (!flag.is_switch()) {
        values += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), action(flag));
      }
    }
    std::vector<std::string_view> arguments;
    for (const Flag& flag : verb.positionals) {
      arguments.insert(arguments.end(), flag.choices().begin(), flag.choices().end());
    }
    flags += fmt::format("        {}) flags='{}' arguments='{}' ;;\n", verb.name,
                         fmt::join(names, " "), fmt::join(arguments, " "));
  }
  std::string script = replaced(kScript, "@VALUES@", values);
  script = replaced(script, "@FLAGS@", flags);
  return replaced(script, "@COMMANDS@", fmt::format("{}", fmt::join(listed_verb_names(), " ")));
}

}  // namespace mlxcel::cli
