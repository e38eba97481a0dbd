// The table of verbs: consistent with itself, complete against the documented command line, and
// with examples that the parser takes.
#include "cli/verbs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "cli/command_line.h"

namespace mlxcel::cli {
namespace {

// The command in an example: from the program's name to a redirection, a pipe or a bracket, split
// at spaces outside of double quotes.
std::vector<std::string> arguments_of(std::string_view example) {
  example.remove_prefix(example.find(kProgram) + kProgram.size());
  std::vector<std::string> words;
  bool in_word = false;
  bool in_quotes = false;
  for (const char c : example) {
    if (!in_quotes && std::string_view("<>|)").find(c) != std::string_view::npos) {
      break;
    }
    if (c == ' ' && !in_quotes) {
      in_word = false;
      continue;
    }
    if (!in_word) {
      words.emplace_back();
      in_word = true;
    }
    if (c == '"') {
      in_quotes = !in_quotes;
    } else {
      words.back() += c;
    }
  }
  return words;
}

TEST(VerbTable, IsConsistent) {
  std::set<std::string_view> names;
  for (const Verb& verb : verb_table()) {
    SCOPED_TRACE(verb.name);
    EXPECT_TRUE(names.insert(verb.name).second);
    EXPECT_FALSE(verb.summary.empty());
    EXPECT_FALSE(verb.summary.ends_with('.'));
    EXPECT_NO_THROW(check_table(verb.flags, verb.positionals));
  }
}

TEST(VerbTable, EveryVerbHasExamplesThatParse) {
  for (const Verb& verb : verb_table()) {
    EXPECT_GE(verb.examples.size(), 2u) << verb.name;
    EXPECT_LE(verb.examples.size(), 4u) << verb.name;
    for (const Example& example : verb.examples) {
      SCOPED_TRACE(example.command);
      const Command command = parse_command_line(arguments_of(example.command), "1");
      EXPECT_EQ(command.verb->name, verb.name);
    }
  }
}

TEST(VerbTable, HoldsTheDocumentedCommandLine) {
  const std::vector<std::string_view> model = {"--model"};
  const std::vector<std::string_view> sampling = {"--max-tokens",
                                                  "--temp",
                                                  "--top-p",
                                                  "--top-k",
                                                  "--min-p",
                                                  "--repetition-penalty",
                                                  "--frequency-penalty",
                                                  "--presence-penalty",
                                                  "--seed",
                                                  "--stop",
                                                  "--ignore-eos"};
  const std::vector<std::string_view> runtime = {"--ctx-size", "--prefill-chunk", "--kv-type",
                                                 "--threads", "--backend"};
  const auto expect_flags = [](std::string_view name, const std::vector<std::string_view>& flags) {
    const Verb* verb = find_verb(name);
    ASSERT_NE(verb, nullptr) << name;
    for (const std::string_view flag : flags) {
      EXPECT_EQ(std::count_if(verb->flags.begin(), verb->flags.end(),
                              [&](const Flag& declared) { return declared.name == flag; }),
                1)
          << name << " " << flag;
    }
  };
  for (const std::string_view verb : {"generate", "chat", "dump"}) {
    expect_flags(verb, model);
    expect_flags(verb, sampling);
    expect_flags(verb, runtime);
    expect_flags(verb, {"--image", "--system", "--verbose", "--quiet", "--help"});
  }
  for (const std::string_view verb : {"generate", "dump"}) {
    expect_flags(verb, {"--prompt", "--no-chat-template", "--json"});
  }
  expect_flags("dump", {"--output"});
  expect_flags("inspect", {"--model", "--json"});
  expect_flags("list", {"--models-dir", "--json"});
  EXPECT_EQ(listed_verb_names(),
            (std::vector<std::string_view>{"generate", "chat", "dump", "inspect", "list",
                                           "completion", "version", "help"}));
  EXPECT_NE(find_verb("man"), nullptr);
  EXPECT_EQ(find_verb("nothing"), nullptr);
}

TEST(VerbTable, DocumentedDefaults) {
  const Command command = parse_command_line({"generate", "-m", "x", "-p", "hi"}, "1");
  const FlagValues& values = command.values;
  EXPECT_EQ(values.integer("--max-tokens"), 256);
  EXPECT_EQ(values.number("--temp"), 0);
  EXPECT_EQ(values.number("--top-p"), 1);
  EXPECT_EQ(values.integer("--top-k"), 0);
  EXPECT_EQ(values.number("--min-p"), 0);
  EXPECT_EQ(values.number("--repetition-penalty"), 1);
  EXPECT_EQ(values.number("--frequency-penalty"), 0);
  EXPECT_EQ(values.number("--presence-penalty"), 0);
  EXPECT_EQ(values.integer("--ctx-size"), 0);
  EXPECT_EQ(values.integer("--prefill-chunk"), 512);
  EXPECT_EQ(values.integer("--threads"), 0);
  EXPECT_EQ(values.text("--backend"), "mlx");
  EXPECT_FALSE(values.has("--seed"));
  EXPECT_FALSE(command.answer);
}

TEST(VerbTable, SamplingBounds) {
  const auto takes = [](const std::string& flag, const std::string& value) {
    try {
      parse_command_line({"generate", "-m", "x", "-p", "hi", flag, value}, "1");
      return true;
    } catch (const base::Error&) {
      return false;
    }
  };
  struct Bound {
    const char* flag;
    const char* inside;
    const char* outside;
  };
  for (const Bound& bound : std::initializer_list<Bound>{{"-n", "1", "0"},
                                                         {"-n", "1000000", "1000001"},
                                                         {"--temp", "0", "-0.1"},
                                                         {"--temp", "10", "10.1"},
                                                         {"--top-p", "0.001", "0"},
                                                         {"--top-p", "1", "1.01"},
                                                         {"--top-k", "0", "-1"},
                                                         {"--min-p", "0", "-0.1"},
                                                         {"--min-p", "1", "1.1"},
                                                         {"--repetition-penalty", "0.1", "0"},
                                                         {"--repetition-penalty", "10", "11"},
                                                         {"--frequency-penalty", "-2", "-2.1"},
                                                         {"--presence-penalty", "2", "2.1"},
                                                         {"--seed", "9223372036854775807", "-1"},
                                                         {"--stop", "x", ""},
                                                         {"--kv-type", "bf16", "f64"},
                                                         {"--backend", "mlx", "iree"}}) {
    EXPECT_TRUE(takes(bound.flag, bound.inside)) << bound.flag << " " << bound.inside;
    EXPECT_FALSE(takes(bound.flag, bound.outside)) << bound.flag << " " << bound.outside;
  }
}

TEST(VerbTable, ChatNamesItsCommands) {
  std::string description;
  for (const std::string_view paragraph : find_verb("chat")->description) {
    description += paragraph;
  }
  for (const char* command :
       {"/image FILE", "/clear", "/reset", "/system TEXT", "/stats", "/help", "/exit"}) {
    EXPECT_NE(description.find(command), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace mlxcel::cli
