// What one value may be, and how messages speak of it.
#include "cli/flag.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/utf8.h"

namespace mlxcel::cli {

namespace {

constexpr size_t kQuotedBytes = 60;
constexpr size_t kLongestName = 64;  // beyond it nothing is compared with known names

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// Edits (insert, delete, replace, swap of neighbours) that turn one name into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.size(), name.find_first_not_of('-')));
}

}  // namespace

const std::vector<std::string_view>& Flag::choices() const {
  static const std::vector<std::string_view> none;
  const auto* choice = std::get_if<ChoiceValue>(&type);
  return choice ? choice->choices : none;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

// What strtod reads beyond decimal notation (nan, inf, hexadecimal, leading space) is refused.
std::optional<double> parse_number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos ||
      text.front() == '+') {
    return std::nullopt;
  }
  char* rest = nullptr;
  const double value = std::strtod(text.c_str(), &rest);
  const bool whole = rest == text.c_str() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool accepts(const ValueType& type, const std::string& value) {
  return std::visit(
      Overloaded{[](const SwitchValue&) { return false; },
                 [&](const TextValue& text) {
                   return base::is_valid_utf8(value) && (text.may_be_empty || !value.empty());
                 },
                 [&](const PathValue&) { return !value.empty(); },
                 [&](const IntegerValue& bounds) {
                   const auto number = parse_integer(value);
                   return number && *number >= bounds.min && *number <= bounds.max;
                 },
                 [&](const NumberValue& bounds) {
                   const auto number = parse_number(value);
                   return number && *number <= bounds.max &&
                          (bounds.above_min ? *number > bounds.min : *number >= bounds.min);
                 },
                 [&](const ChoiceValue& choice) {
                   return std::find(choice.choices.begin(), choice.choices.end(), value) !=
                          choice.choices.end();
                 }},
      type);
}

std::string describe_expected(const ValueType& type) {
  return std::visit(
      Overloaded{
          [](const SwitchValue&) { return std::string("no value"); },
          [](const TextValue& text) {
            return std::string(text.may_be_empty ? "UTF-8 text" : "UTF-8 text that is not empty");
          },
          [](const PathValue&) { return std::string("a path"); },
          [](const IntegerValue& bounds) {
            return fmt::format("an integer from {} to {}", bounds.min, bounds.max);
          },
          [](const NumberValue& bounds) {
            return fmt::format("a number {} {} {} {}", bounds.above_min ? "above" : "from",
                               bounds.min, bounds.above_min ? "and at most" : "to", bounds.max);
          },
          [](const ChoiceValue& choice) {
            return fmt::format("one of {}", fmt::join(choice.choices, ", "));
          }},
      type);
}

std::string for_message(std::string_view text) {
  const bool cut = text.size() > kQuotedBytes;
  if (cut) {
    text = text.substr(0, kQuotedBytes);
    text = text.substr(0, base::complete_utf8_prefix(text));
  }
  std::string out = "'";
  for (const char c : base::repair_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (cut ? "...'" : "'");
}

std::string_view nearest_name(std::string_view given,
                              const std::vector<std::string_view>& candidates) {
  const std::string_view typed = without_dashes(given);
  if (typed.empty() || typed.size() > kLongestName) {
    return {};
  }
  const size_t limit = std::clamp<size_t>(typed.size() / 3, 1, 4);
  constexpr size_t kShortestStart = 3;
  std::string_view best;
  size_t best_distance = limit + 1;
  for (const std::string_view candidate : candidates) {
    const std::string_view name = without_dashes(candidate);
    size_t distance = edit_distance(typed, name);
    const size_t common = std::min(typed.size(), name.size());
    if (common >= kShortestStart && typed.substr(0, common) == name.substr(0, common)) {
      distance = std::min(distance, limit);
    }
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void check_table(const std::vector<Flag>& flags, const std::vector<Flag>& positionals) {
  std::set<std::string_view> names;
  const auto check = [&](const Flag& flag, bool ok, std::string_view fault) {
    if (!ok) {
      throw base::internal_error("flag table: '{}' {}", flag.name, fault);
    }
  };
  for (const Flag& flag : flags) {
    check(flag, flag.name.size() > 3 && flag.name.starts_with("--"), "is not a long name");
    check(flag, names.insert(flag.name).second, "is declared twice");
    check(flag, flag.short_name.empty() || flag.short_name.size() == 2, "has a wrong short name");
    check(flag, flag.short_name.empty() || names.insert(flag.short_name).second,
          "has a short name that is taken");
    check(flag, flag.is_switch() == flag.placeholder.empty(), "needs a placeholder, or none");
    check(flag, !flag.group.empty(), "has no group");
  }
  for (const Flag& flag : positionals) {
    check(flag, names.insert(flag.name).second, "is declared twice");
    check(flag, !flag.is_switch() && !flag.name.starts_with('-'), "is not a positional");
  }
  std::vector<Flag> all = flags;
  all.insert(all.end(), positionals.begin(), positionals.end());
  for (const Flag& flag : all) {
    check(flag, !flag.help.empty() && !flag.help.ends_with('.'), "needs a help without full stop");
    check(flag, flag.default_text.empty() || accepts(flag.type, std::string(flag.default_text)),
          "has a default outside its bounds");
    check(flag, !flag.required || flag.default_text.empty(), "is required and has a default");
    check(flag, flag.excludes.empty() || names.contains(flag.excludes), "excludes an unknown flag");
  }
}

}  // namespace mlxcel::cli
