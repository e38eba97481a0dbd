// One generator per shell. Each consists of a fixed part, which knows the shell, and of lines made
// from the table, which know the program.
#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"
#include "cli/verbs.h"

namespace mlxcel::cli {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool found = text.substr(at).starts_with(from);
    out += found ? to : text.substr(at, 1);
    at += found ? from.size() : 1;
  }
  return out;
}

// "-m", "--model": every spelling of a flag.
std::vector<std::string_view> spellings(const Flag& flag) {
  std::vector<std::string_view> names = {flag.name};
  if (!flag.short_name.empty()) {
    names.insert(names.begin(), flag.short_name);
  }
  return names;
}

// ---- bash

constexpr std::string_view kBashHelpers =
    R"(# bash completion for mlxcel; load it with: source <(mlxcel completion bash)

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

)";

// $flag is the flag whose value is typed: the word before, also across the "=" that bash splits
// off.
constexpr std::string_view kBashHead = R"(_mlxcel() {
  local cur flag command flags arguments prefix=""
  COMPREPLY=()
  cur="${COMP_WORDS[COMP_CWORD]}"
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
)";

std::string bash_action(const Flag& flag) {
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

std::string bash_script() {
  std::string values;
  std::string commands;
  for (const Verb& verb : verb_table()) {
    std::vector<std::string_view> names;
    for (const Flag& flag : verb.flags) {
      std::vector<std::string> patterns;
      for (const std::string_view name : spellings(flag)) {
        names.push_back(name);
        patterns.push_back(fmt::format("{}:{}", verb.name, name));
      }
      if (!flag.is_switch()) {
        values += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), bash_action(flag));
      }
    }
    std::vector<std::string_view> arguments;
    for (const Flag& flag : verb.positionals) {
      arguments.insert(arguments.end(), flag.choices().begin(), flag.choices().end());
    }
    commands += fmt::format("        {}) flags='{}' arguments='{}' ;;\n", verb.name,
                            fmt::join(names, " "), fmt::join(arguments, " "));
  }
  std::string out(kBashHelpers);
  out += kBashHead;
  out += fmt::format(
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n    _mlxcel_words '{} --help --version'\n    return\n  "
      "fi\n",
      fmt::join(listed_verb_names(), " "));
  out += "  command=\"${COMP_WORDS[1]}\"\n  case \"$command:$flag\" in\n" + values;
  out += "    *)\n      flags='' arguments=''\n      case \"$command\" in\n" + commands;
  out += "      esac\n";
  out += "      if [[ $cur == -* || -z $arguments ]]; then arguments=\"$flags\"; fi\n";
  out += "      _mlxcel_words \"$arguments\" ;;\n  esac\n";
  out += "  if [[ -n $prefix ]]; then COMPREPLY=(\"${COMPREPLY[@]/#/$prefix}\"); fi\n}\n\n";
  out += "complete -F _mlxcel mlxcel\n";
  return out;
}

// ---- zsh

constexpr std::string_view kZshHelpers = R"(#compdef mlxcel
# zsh completion for mlxcel; put it as _mlxcel into a folder of $fpath

_mlxcel_models() {
  local -a names
  names=(${(f)" $(_call_program models mlxcel list-- names 2 > / dev / null) "})
    _alternative 'names:model:compadd -a names' 'folders:folder:_files -/'
}  // namespace

_mlxcel() {
  local curcontext="$curcontext" state line
  local -a commands
  typeset -A opt_args
)";

std::string zsh_quoted(std::string_view text) {
    return "'" + replaced(text, "'", "'\\''") + "'";
  }

  std::string zsh_escaped(std::string_view text) {  // inside the parts of a spec
    std::string out;
    for (const char c : text) {
      if (c == '[' || c == ']' || c == ':' || c == '\\') {
        out += '\\';
      }
      out += c;
    }
    return out;
  }

  std::string zsh_action(const Flag& flag) {
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

  // "'(-m --model)-m+[Folder of ...]:MODEL:_mlxcel_models'", one for each spelling.
  std::vector<std::string> zsh_specs(const Flag& flag) {
    std::vector<std::string> specs;
    for (const std::string_view name : spellings(flag)) {
      std::string spec;
      if (flag.name == "--help") {
        spec = "(- *)";
      } else if (flag.repeatable) {
        spec = "*";
      } else {
        spec = fmt::format("({}{}{})", fmt::join(spellings(flag), " "),
                           flag.excludes.empty() ? "" : " ", flag.excludes);
      }
      spec += name;
      if (!flag.is_switch()) {
        spec += name == flag.name ? "=" : "+";
      }
      spec += fmt::format("[{}]", zsh_escaped(flag.help));
      if (!flag.is_switch()) {
        spec += fmt::format(":{}:{}", zsh_escaped(flag.placeholder), zsh_action(flag));
      }
      specs.push_back(zsh_quoted(spec));
    }
    return specs;
  }

  std::string zsh_script() {
    std::string commands;
    std::string cases;
    for (const Verb& verb : verb_table()) {
      if (!verb.hidden) {
        commands += fmt::format(
            "        {}\n", zsh_quoted(fmt::format("{}:{}", verb.name, zsh_escaped(verb.summary))));
      }
      std::vector<std::string> specs;
      for (const Flag& flag : verb.flags) {
        for (std::string& spec : zsh_specs(flag)) {
          specs.push_back(std::move(spec));
        }
      }
      for (size_t at = 0; at < verb.positionals.size(); ++at) {
        const Flag& flag = verb.positionals[at];
        specs.push_back(
            zsh_quoted(fmt::format("{}:{}:{}", at + 1, zsh_escaped(flag.name), zsh_action(flag))));
      }
      cases +=
          fmt::format("        {})\n          _arguments -s -S \\\n            {}\n          ;;\n",
                      verb.name, fmt::join(specs, " \\\n            "));
    }
    std::string out(kZshHelpers);
    out +=
        "  _arguments -C '(- *)'{-h,--help}'[Show help]' '(- *)'{-V,--version}'[Print the "
        "version]' \\\n";
    out +=
        "    '1: :->command' '*:: :->arguments'\n  case $state in\n    command)\n      "
        "commands=(\n";
    out += commands;
    out += "      )\n      _describe -t commands command commands\n      ;;\n";
    out +=
        "    arguments)\n      case $words[1] in\n" + cases + "      esac\n      ;;\n  esac\n}\n\n";
    // Loaded from $fpath, the file is the body of _mlxcel itself; sourced, it only registers.
    out +=
        "if [[ $funcstack[1] == _mlxcel ]]; then\n  _mlxcel \"$@\"\nelse\n  compdef _mlxcel "
        "mlxcel\nfi\n";
    return out;
  }

  // ---- fish

  constexpr std::string_view kFishHelpers =
      R"(# fish completion for mlxcel; put it into ~/.config/fish/completions

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
)";

  std::string fish_quoted(std::string_view text) {
    return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
  }

  std::string fish_action(const Flag& flag) {
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

  std::string fish_script() {
    std::string out(kFishHelpers);
    for (const Verb& verb : verb_table()) {
      if (!verb.hidden) {
        out += fmt::format("complete -c mlxcel -n __mlxcel_needs_command -a {} -d {}\n", verb.name,
                           fish_quoted(verb.summary));
      }
    }
    for (const Verb& verb : verb_table()) {
      const std::string begin =
          fmt::format("complete -c mlxcel -n '__mlxcel_command_is {}'", verb.name);
      for (const Flag& flag : verb.positionals) {
        out += fmt::format("{} -a '{}' -d {}\n", begin, fmt::join(flag.choices(), " "),
                           fish_quoted(flag.help));
      }
      for (const Flag& flag : verb.flags) {
        out += begin;
        if (!flag.short_name.empty()) {
          out += fmt::format(" -s {}", flag.short_name.substr(1));
        }
        out += fmt::format(" -l {}{} -d {}\n", flag.name.substr(2),
                           flag.is_switch() ? "" : fish_action(flag), fish_quoted(flag.help));
      }
    }
    return out;
  }

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") {
    return bash_script();
  }
  if (shell == "zsh") {
    return zsh_script();
  }
  if (shell == "fish") {
    return fish_script();
  }
  throw base::internal_error("no completion script for shell '{}'", shell);
}

}  // namespace mlxcel::cli
