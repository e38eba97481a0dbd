// Help for people, printed from the table of verbs.
#pragma once

#include <string>
#include <string_view>

#include "cli/verbs.h"

namespace mlxcel::cli {

// No line of help is wider.
inline constexpr size_t kHelpColumns = 80;

// `mlxcel --help`: the verbs.
std::string program_help();

// `mlxcel VERB --help`: usage, description, flags by group with their defaults, examples.
std::string verb_help(const Verb& verb);

// "mlxcel generate --model MODEL --prompt TEXT [FLAGS]": what must be given, in table order.
std::string usage_line(const Verb& verb);

// "-m, --model MODEL", "    --json": how a flag is typed. A positional: its name.
std::string flag_synopsis(const Flag& flag);

// What help says of a flag: its sentence, then what may be given, the default, and whether it is
// required or may be repeated.
std::string flag_description(const Flag& flag);

// Words of `text` in lines of at most `width` columns (UTF-8 counted by code points), each line
// after the first indented by `indent` spaces. A longer word stands alone.
std::string wrap(std::string_view text, size_t width, size_t indent);

// A command line in lines that a shell joins again (backslash at the end), broken in front of
// flags.
std::string wrap_command(std::string_view command, size_t width, size_t indent);

}  // namespace mlxcel::cli
