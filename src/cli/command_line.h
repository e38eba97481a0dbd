// The whole command line: which verb, with which values. What needs no model (help, version,
// completion scripts, the manual page) is answered here already.
//
//   const Command command = parse_command_line(arguments, MLXCEL_VERSION);
//   if (command.answer) { print it; return 0; }
//   if (command.verb->name == "generate") { ... command.values.integer("--max-tokens") ... }
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flag_table.h"
#include "cli/verbs.h"

namespace mlxcel::cli {

struct Command {
  const Verb* verb = nullptr;  // never null; lives as long as the program
  FlagValues values;
  std::optional<std::string>
      answer;  // for standard output, with its last newline; nothing else is to be done
};

// `arguments` without the name of the program. Throws kBadInput with one line.
Command parse_command_line(const std::vector<std::string>& arguments, std::string_view version);

}  // namespace mlxcel::cli
