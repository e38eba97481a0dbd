// Finds the verb, lets the parser read its flags, and answers the verbs that only print text.
#include "cli/command_line.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/completion.h"
#include "cli/help_text.h"
#include "cli/man_page.h"

namespace mlxcel::cli {
namespace {

// Flags that stand where a verb is expected, and the verb they mean.
struct Alias {
  std::string_view flag;
  std::string_view verb;
};
constexpr Alias kAliases[] = {
    {"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};

const Verb& find_command(const std::string& argument) {
  for (const Alias& alias : kAliases) {
    if (argument == alias.flag) {
      return *find_verb(alias.verb);
    }
  }
  if (const Verb* verb = find_verb(argument)) {
    return *verb;
  }
  if (argument.starts_with('-')) {
    throw base::bad_input("found {} where a command is expected; '{} --help' lists the commands",
                          for_message(argument), kProgram);
  }
  const std::string_view near = nearest_name(argument, listed_verb_names());
  if (near.empty()) {
    throw base::bad_input("unknown command {}; '{} --help' lists the commands",
                          for_message(argument), kProgram);
  }
  throw base::bad_input("unknown command {}; did you mean '{}'?", for_message(argument), near);
}

std::optional<std::string> answer_for(const Verb& verb, const FlagValues& values,
                                      std::string_view version) {
  if (values.wants_help()) {
    return verb_help(verb);
  }
  if (verb.name == "help") {
    return values.has("COMMAND") ? verb_help(*find_verb(values.text("COMMAND"))) : program_help();
  }
  if (verb.name == "version") {
    return fmt::format("{} {}\n", kProgram, version);
  }
  if (verb.name == "completion") {
    return completion_script(values.text("SHELL"));
  }
  if (verb.name == "man") {
    return man_page(version);
  }
  return std::nullopt;
}

}  // namespace

Command parse_command_line(const std::vector<std::string>& arguments, std::string_view version) {
  if (arguments.empty()) {
    throw base::bad_input("no command is given; '{} --help' lists the commands", kProgram);
  }
  const Verb& verb = find_command(arguments.front());
  Command command{.verb = &verb};
  command.values = parse_flags(verb.name, verb.flags, verb.positionals,
                               {arguments.begin() + 1, arguments.end()});
  command.answer = answer_for(verb, command.values, version);
  return command;
}

}  // namespace mlxcel::cli
