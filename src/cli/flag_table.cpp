// The parser of command lines, driven by the table of flags. Every value is checked here, so that
// what a verb reads later cannot be wrong.
#include "cli/flag_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace mlxcel::cli {

using base::bad_input;
using base::internal_error;

namespace {

constexpr std::string_view kHelp = "--help";
constexpr std::string_view kHelpShort = "-h";

}  // namespace

const Flag& FlagValues::declared(std::string_view name) const {
  for (const Flag& flag : declared_) {
    if (flag.name == name) {
      return flag;
    }
  }
  throw internal_error("flag '{}' was read but is not declared", name);
}

bool FlagValues::has(std::string_view name) const { return given_.contains(declared(name).name); }

std::vector<std::string_view> FlagValues::given() const {
  std::vector<std::string_view> names;
  for (const Flag& flag : declared_) {
    if (given_.contains(flag.name)) {
      names.push_back(flag.name);
    }
  }
  return names;
}

bool FlagValues::on(std::string_view name) const {
  if (!declared(name).is_switch()) {
    throw internal_error("flag '{}' was read as a switch", name);
  }
  return given_.contains(name);
}

std::vector<std::string> FlagValues::all(std::string_view name) const {
  const Flag& flag = declared(name);
  if (flag.is_switch()) {
    throw internal_error("switch '{}' was read as a value", name);
  }
  if (const auto found = given_.find(name); found != given_.end()) {
    return found->second;
  }
  return flag.default_text.empty() ? std::vector<std::string>{}
                                   : std::vector<std::string>{std::string(flag.default_text)};
}

std::string FlagValues::single(std::string_view name) const {
  const std::vector<std::string> values = all(name);
  if (declared(name).repeatable || values.empty()) {
    throw internal_error("flag '{}' was read as one value, but it has {}", name, values.size());
  }
  return values.front();
}

std::string FlagValues::text(std::string_view name) const {
  const ValueType& type = declared(name).type;
  if (std::holds_alternative<IntegerValue>(type) || std::holds_alternative<NumberValue>(type)) {
    throw internal_error("flag '{}' was read as text", name);
  }
  return single(name);
}

int64_t FlagValues::integer(std::string_view name) const {
  if (!std::holds_alternative<IntegerValue>(declared(name).type)) {
    throw internal_error("flag '{}' was read as an integer", name);
  }
  return parse_integer(single(name)).value();
}

double FlagValues::number(std::string_view name) const {
  if (!std::holds_alternative<NumberValue>(declared(name).type)) {
    throw internal_error("flag '{}' was read as a number", name);
  }
  return parse_number(single(name)).value();
}

// One pass over the arguments of a verb.
class FlagParser {
 public:
  FlagParser(std::string_view verb, const std::vector<Flag>& flags,
             const std::vector<Flag>& positionals, const std::vector<std::string>& arguments)
      : verb_(verb), flags_(flags), positionals_(positionals), arguments_(arguments) {
    std::vector<Flag> declared = flags;
    declared.insert(declared.end(), positionals.begin(), positionals.end());
    values_ = FlagValues(std::move(declared));
  }

  FlagValues run() {
    if (help_is_asked()) {
      values_.wants_help_ = true;
      return values_;
    }
    while (next_ < arguments_.size()) {
      const std::string& argument = arguments_[next_++];
      if (only_positionals_ || argument.size() < 2 || argument.front() != '-') {
        take_positional(argument);
      } else if (argument == "--") {
        only_positionals_ = true;
      } else if (argument[1] == '-') {
        take_long(argument);
      } else {
        take_short(argument);
      }
    }
    if (find(kHelp) && values_.on(kHelp)) {
      values_.wants_help_ = true;
    } else {
      check_whole();
    }
    return std::move(values_);
  }

 private:
  const Flag* find(std::string_view name) const {
    for (const Flag& flag : flags_) {
      if (flag.name == name || (!flag.short_name.empty() && flag.short_name == name)) {
        return &flag;
      }
    }
    return nullptr;
  }

  bool help_is_asked() const {
    const auto end = std::find(arguments_.begin(), arguments_.end(), "--");
    return find(kHelp) && std::any_of(arguments_.begin(), end, [](const std::string& argument) {
             return argument == kHelp || argument == kHelpShort;
           });
  }

  base::Error unknown_flag(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Flag& flag : flags_) {
      names.push_back(flag.name);
    }
    const std::string_view near = nearest_name(name, names);
    if (near.empty()) {
      return bad_input("unknown flag {} for {}; 'mlxcel {} --help' lists its flags",
                       for_message(name), verb_, verb_);
    }
    return bad_input("unknown flag {} for {}; did you mean '{}'?", for_message(name), verb_, near);
  }

  void take_long(const std::string& argument) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const Flag* flag = find(name);
    if (!flag) {
      throw unknown_flag(name);
    }
    if (equals != std::string::npos) {
      store(*flag, argument.substr(equals + 1));
    } else {
      store_separate(*flag);
    }
  }

  // "-n5", "-n=5", "-n 5", "-v", "-vq", "-vn5".
  void take_short(const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    if (find(fmt::format("-{}", name))) {  // -model: one dash too few
      throw unknown_flag(name);
    }
    for (size_t at = 1; at < argument.size(); ++at) {
      const Flag* flag = find(std::string{'-', argument[at]});
      if (!flag) {
        throw unknown_flag(argument);
      }
      const std::string rest = argument.substr(at + 1);
      if (!rest.empty() && (rest.front() == '=' || !flag->is_switch())) {
        store(*flag, rest.front() == '=' ? rest.substr(1) : rest);
        return;
      }
      store_separate(*flag);
    }
  }

  // A flag of this verb is no value: the real value was forgotten.
  bool is_flag_of_verb(const std::string& argument) const {
    return argument == "--" || find(argument.substr(0, argument.find('='))) != nullptr;
  }

  void store_separate(const Flag& flag) {
    if (flag.is_switch()) {
      store_checked(flag, "");
      return;
    }
    if (next_ == arguments_.size()) {
      throw bad_input("{}: {} has no value, expected {}", verb_, flag.name,
                      describe_expected(flag.type));
    }
    const std::string& value = arguments_[next_++];
    if (is_flag_of_verb(value)) {
      throw bad_input("{}: {} has no value: found {}, expected {}", verb_, flag.name,
                      for_message(value), describe_expected(flag.type));
    }
    store(flag, value);
  }

  void store(const Flag& flag, const std::string& value) {
    if (!accepts(flag.type, value)) {
      throw bad_input("{}: {} is {}, expected {}", verb_, flag.name, for_message(value),
                      describe_expected(flag.type));
    }
    store_checked(flag, value);
  }

  void store_checked(const Flag& flag, const std::string& value) {
    std::vector<std::string>& values = values_.given_[std::string(flag.name)];
    if (!values.empty() && !flag.repeatable) {
      throw bad_input("{}: {} is given twice, expected once", verb_, flag.name);
    }
    values.push_back(value);
  }

  void take_positional(const std::string& argument) {
    if (positional_ == positionals_.size()) {
      throw bad_input("{}: unexpected argument {}, expected {}", verb_, for_message(argument),
                      positionals_.empty()
                          ? "flags only (a value follows its flag, --flag VALUE)"
                          : fmt::format("nothing after {}", positionals_.back().name));
    }
    store(positionals_[positional_++], argument);
  }

  void check_whole() const {
    for (const Flag& flag : values_.declared_) {
      const bool given = values_.has(flag.name);
      if (flag.required && !given) {
        throw bad_input("{}: {} is missing, expected {}", verb_, flag.name,
                        flag.placeholder.empty()
                            ? describe_expected(flag.type)
                            : fmt::format("{} {}", flag.name, flag.placeholder));
      }
      if (given && !flag.excludes.empty() && values_.has(flag.excludes)) {
        throw bad_input("{}: {} and {} are both given, expected one of them", verb_, flag.name,
                        flag.excludes);
      }
    }
  }

  std::string_view verb_;
  const std::vector<Flag>& flags_;
  const std::vector<Flag>& positionals_;
  const std::vector<std::string>& arguments_;
  FlagValues values_;
  size_t next_ = 0;
  size_t positional_ = 0;
  bool only_positionals_ = false;
};

FlagValues parse_flags(std::string_view verb, const std::vector<Flag>& flags,
                       const std::vector<Flag>& positionals,
                       const std::vector<std::string>& arguments) {
  return FlagParser(verb, flags, positionals, arguments).run();
}

}  // namespace mlxcel::cli
