// Command-line arguments read against a table of flags, as typed values with their defaults.
//
//   const std::vector<Flag> flags = {
//       {.name = "--image", .placeholder = "FILE", .type = PathValue{}, .repeatable = true,
//        .complete = Completion::kFile, .group = "Input", .help = "A picture"},
//       {.name = "--max-tokens", .short_name = "-n", .placeholder = "N",
//        .type = IntegerValue{.min = 1, .max = 100}, .default_text = "16", .group = "Output",
//        .help = "Most tokens to write"}};
//   const FlagValues values = parse_flags("generate", flags, {}, arguments);
//   values.integer("--max-tokens");  // what was given, or 16
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flag.h"

namespace mlxcel::cli {

// What was given, with defaults. A getter for a name that the verb does not declare, of another
// type, or without value and default throws kInternal: that is a mistake of this program, not of
// its user.
class FlagValues {
 public:
  FlagValues() = default;
  explicit FlagValues(std::vector<Flag> declared) : declared_(std::move(declared)) {}

  bool has(std::string_view name) const;          // given explicitly
  std::vector<std::string_view> given() const;    // names given explicitly, in table order
  bool on(std::string_view name) const;           // a switch
  std::string text(std::string_view name) const;  // text, path or choice
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;  // repeatable: every value, in order

  bool wants_help() const { return wants_help_; }

 private:
  friend class FlagParser;
  const Flag& declared(std::string_view name) const;
  std::string single(std::string_view name) const;

  std::vector<Flag> declared_;  // flags, then positional arguments
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
  bool wants_help_ = false;
};

// Parses the arguments after the verb: `--flag value`, `--flag=value`, `-n 5`, `-n5`, `-n=5`,
// switches joined as in `-vq`, and `--`, after which everything is positional. A separate value may
// begin with a dash ("-1", "-", "- a list") unless it is a flag of the verb; such a text is written
// --flag=TEXT.
// `--help` (when declared) before `--` wins over everything: only wants_help() is set then.
// Throws kBadInput with one line that names verb, flag, found and expected.
FlagValues parse_flags(std::string_view verb, const std::vector<Flag>& flags,
                       const std::vector<Flag>& positionals,
                       const std::vector<std::string>& arguments);

}  // namespace mlxcel::cli
