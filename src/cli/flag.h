// Command-line flags as data. A verb declares each of its flags once, in a table; the parser,
// the help text, the shell completions and the man page all read that table, so that none of them
// can say something the others do not.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mlxcel::cli {

// What a flag takes. A switch takes nothing; all others take one value each time they are given.
struct SwitchValue {};
struct TextValue {  // UTF-8
  bool may_be_empty = false;
};
struct PathValue {};  // any bytes, not empty
struct IntegerValue {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};
struct NumberValue {  // finite; `above_min` leaves out the lower bound itself
  double min = 0;
  double max = 0;
  bool above_min = false;
};
struct ChoiceValue {
  std::vector<std::string_view> choices;
};
using ValueType =
    std::variant<SwitchValue, TextValue, PathValue, IntegerValue, NumberValue, ChoiceValue>;

// What a shell offers for the value. Choices complete by themselves.
enum class Completion { kNone, kFile, kDirectory, kModel };

// A flag ("--image"), or a positional argument when the name has no dashes ("SHELL"). The views
// refer to literals of the table.
struct Flag {
  std::string_view name;
  std::string_view short_name = {};   // "-m"
  std::string_view placeholder = {};  // "FILE"; empty for a switch
  ValueType type = SwitchValue{};
  std::string_view default_text = {};  // a value as it would be typed; empty: no default
  bool repeatable = false;
  bool required = false;
  std::string_view excludes = {};  // a flag that must not be given together with this one
  Completion complete = Completion::kNone;
  std::string_view group = {};  // heading in the help
  std::string_view help = {};   // one sentence without a full stop

  bool is_switch() const { return std::holds_alternative<SwitchValue>(type); }
  const std::vector<std::string_view>& choices() const;  // empty unless a choice
};

// The whole text as a value: decimal notation, finite, nothing before or behind it.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(const std::string& text);

// Whether the text is a value of the type, inside its bounds.
bool accepts(const ValueType& type, const std::string& value);

// "an integer from 1 to 100", "one of f32, bf16": what error messages say was expected.
std::string describe_expected(const ValueType& type);

// The text as one printable line in quotes, shortened when it is long, for messages.
std::string for_message(std::string_view text);

// The candidate that was probably meant: a few typing errors away, or the same up to where one of
// the two ends. Empty when nothing is near.
std::string_view nearest_name(std::string_view given,
                              const std::vector<std::string_view>& candidates);

// Throws kInternal when a table contradicts itself: a name twice, a default outside its bounds, a
// placeholder missing. For tests of tables.
void check_table(const std::vector<Flag>& flags, const std::vector<Flag>& positionals);

}  // namespace mlxcel::cli
