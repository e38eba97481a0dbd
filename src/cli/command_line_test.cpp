// From arguments to a verb, and the verbs that are answered without a model.
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/completion.h"
#include "cli/help_text.h"
#include "cli/man_page.h"

namespace mlxcel::cli {
namespace {

Command parse(const std::vector<std::string>& arguments) {
  return parse_command_line(arguments, "1.2.3");
}

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(ParseCommandLine, VerbWithValues) {
  const Command command = parse({"inspect", "-m", "x", "--json"});
  EXPECT_EQ(command.verb->name, "inspect");
  EXPECT_EQ(command.values.text("--model"), "x");
  EXPECT_TRUE(command.values.on("--json"));
  EXPECT_FALSE(command.answer);
}

TEST(ParseCommandLine, AnswersHelp) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"-h"}, {"help"}}) {
    EXPECT_EQ(parse(arguments).answer, program_help());
  }
  const std::string chat = verb_help(*find_verb("chat"));
  EXPECT_EQ(parse({"chat", "--help"}).answer, chat);
  EXPECT_EQ(parse({"chat", "-m", "x", "-h"}).answer, chat);
  EXPECT_EQ(parse({"help", "chat"}).answer, chat);
  EXPECT_EQ(parse({"--help", "chat"}).answer, chat);
  EXPECT_EQ(parse({"help", "--help"}).answer, verb_help(*find_verb("help")));
}

TEST(ParseCommandLine, AnswersVersionCompletionAndMan) {
  for (const char* argument : {"version", "--version", "-V"}) {
    EXPECT_EQ(parse({argument}).answer, "mlxcel 1.2.3\n");
  }
  EXPECT_EQ(parse({"completion", "fish"}).answer, completion_script("fish"));
  EXPECT_EQ(parse({"man"}).answer, man_page("1.2.3"));
}

TEST(ParseCommandLine, Errors) {
  EXPECT_EQ(error_of({}), "no command is given; 'mlxcel --help' lists the commands");
  EXPECT_EQ(error_of({"genrate"}), "unknown command 'genrate'; did you mean 'generate'?");
  EXPECT_EQ(error_of({""}), "unknown command ''; 'mlxcel --help' lists the commands");
  EXPECT_EQ(error_of({"zzz"}), "unknown command 'zzz'; 'mlxcel --help' lists the commands");
  EXPECT_EQ(error_of({"-m", "x", "generate"}),
            "found '-m' where a command is expected; 'mlxcel --help' lists the commands");
  EXPECT_EQ(error_of({"completion", "tcsh"}),
            "completion: SHELL is 'tcsh', expected one of bash, zsh, fish");
  EXPECT_NE(error_of({"help", "zzz"}).find("COMMAND is 'zzz', expected one of generate, chat"),
            std::string::npos);
}

}  // namespace
}  // namespace mlxcel::cli
