// The verbs of the program as one table: what each is for, its flags, examples. Help, completions
// and the man page print this table; adding a flag or a verb is a change in verbs.cpp only.
#pragma once

#include <string_view>
#include <vector>

#include "cli/flag.h"

namespace mlxcel::cli {

inline constexpr std::string_view kProgram = "mlxcel";
inline constexpr std::string_view kProgramSummary = "answer questions about pictures, locally";

struct Example {
  std::string_view purpose;
  std::string_view command;
};

struct Verb {
  std::string_view name;
  std::string_view summary;                        // one line without a full stop
  std::vector<std::string_view> description = {};  // paragraphs
  std::vector<Example> examples = {};
  std::vector<Flag> flags = {};
  std::vector<Flag> positionals = {};
  bool hidden = false;  // works, but is not listed
};

// In the order in which help lists them.
const std::vector<Verb>& verb_table();

const Verb* find_verb(std::string_view name);  // null when unknown

std::vector<std::string_view> listed_verb_names();

// Headings of the verb's flags, in the order of their first flag.
std::vector<std::string_view> flag_groups(const Verb& verb);

struct ExitStatus {
  int code;
  std::string_view meaning;
};
const std::vector<ExitStatus>& exit_statuses();

}  // namespace mlxcel::cli
