// Help is complete (every flag of the table is in it) and fits its columns.
#include "cli/help_text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace mlxcel::cli {
namespace {

void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), kHelpColumns) << line;
    EXPECT_FALSE(line.ends_with(' ')) << "'" << line << "'";
  }
  EXPECT_TRUE(text.ends_with('\n'));
}

// The words of a text with single spaces: independent of how it was wrapped.
std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) {
    out += word;
    out += ' ';
  }
  return out;
}

TEST(ProgramHelp, ListsEveryVerbThatIsNotHidden) {
  const std::string help = program_help();
  expect_fits(help);
  for (const Verb& verb : verb_table()) {
    EXPECT_EQ(help.find(verb.summary) == std::string::npos, verb.hidden) << verb.name;
  }
}

TEST(VerbHelp, ShowsEveryFlagWithItsDefaultUnderItsGroup) {
  for (const Verb& verb : verb_table()) {
    SCOPED_TRACE(verb.name);
    const std::string help = verb_help(verb);
    expect_fits(help);
    const std::string words = unwrapped(help);
    for (const Flag& flag : verb.flags) {
      const std::string entry = flag_synopsis(flag) + " " + flag_description(flag);
      EXPECT_NE(words.find(unwrapped(entry)), std::string::npos) << entry;
      EXPECT_NE(entry.find(flag.placeholder), std::string::npos);
      EXPECT_NE(entry.find(flag.help), std::string::npos);
      if (!flag.default_text.empty()) {
        EXPECT_NE(entry.find("default " + std::string(flag.default_text)), std::string::npos);
      }
      const size_t heading = help.find("\n" + std::string(flag.group) + ":\n");
      ASSERT_NE(heading, std::string::npos);
      EXPECT_LT(heading, help.find("  " + flag_synopsis(flag)));
    }
    for (const Flag& flag : verb.positionals) {
      EXPECT_NE(words.find(std::string(flag.name) + " " + flag_description(flag)),
                std::string::npos);
    }
    for (const std::string_view paragraph : verb.description) {
      EXPECT_NE(words.find(paragraph), std::string::npos);
    }
    for (const Example& example : verb.examples) {
      EXPECT_NE(help.find(example.purpose), std::string::npos);
    }
  }
}

TEST(VerbHelp, AlignsItsColumns) {
  const Verb verb = {.name = "paint",
                     .summary = "Paint",
                     .flags = {{.name = "--colour",
                                .short_name = "-c",
                                .placeholder = "NAME",
                                .type = TextValue{},
                                .required = true,
                                .group = "Look",
                                .help = "What to paint with when nothing else was chosen before"},
                               {.name = "--a-name-longer-than-its-column",
                                .placeholder = "N",
                                .type = IntegerValue{},
                                .default_text = "1",
                                .repeatable = true,
                                .group = "Other",
                                .help = "Long"}}};
  EXPECT_EQ(verb_help(verb),
            "Paint.\n\n"
            "Usage:\n"
            "  mlxcel paint -c NAME [FLAGS]\n\n"
            "Look:\n"
            "  -c, --colour NAME             What to paint with when nothing else was chosen\n"
            "                                before (required)\n\n"
            "Other:\n"
            "      --a-name-longer-than-its-column N\n"
            "                                Long (default 1; may be repeated)\n");
}

TEST(Wrap, BreaksAtSpacesOnly) {
  EXPECT_EQ(wrap("", 10, 2), "");
  EXPECT_EQ(wrap("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrap("a-word-longer-than-that x", 5, 1), "a-word-longer-than-that\n x");
  EXPECT_EQ(wrap("  many   spaces ", 20, 0), "many spaces");
  EXPECT_EQ(wrap("üüü üüü", 7, 0), "üüü üüü");  // counted in characters, not in bytes
}

TEST(WrapCommand, IsTheSameCommandForAShell) {
  EXPECT_EQ(wrap_command("tool -a 1 -b \"x -c y\" --long value", 22, 4),
            "tool -a 1 \\\n    -b \"x -c y\" \\\n    --long value");
  EXPECT_EQ(wrap_command("tool -a", 24, 4), "tool -a");
  for (const Verb& verb : verb_table()) {
    for (const Example& example : verb.examples) {
      std::string joined = wrap_command(example.command, 40, 6);
      for (size_t at; (at = joined.find("\\\n      ")) != std::string::npos;) {
        joined.erase(at, 8);
      }
      EXPECT_EQ(joined, example.command);
    }
  }
}

}  // namespace
}  // namespace mlxcel::cli
