// Filters of one value: text, numbers, JSON.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "text/jinja_call.h"
#include "text/jinja_format.h"
#include "text/jinja_operators.h"
#include "text/jinja_strings.h"

namespace mlxcel::text {
namespace {

using base::bad_input;

Value filter_case(Runtime& rt, Arguments& a, Case to) {
  return convert_case(rt.budget, *soft_text(rt.budget, a[0]), to);
}

Value filter_trim(Runtime& rt, Arguments& a) {
  const bool space = !a.has(1) || a[1].is<None>();
  return strip(rt.budget, *soft_text(rt.budget, a[0]), space ? nullptr : &a.text(1), Side::kBoth);
}

Value filter_replace(Runtime& rt, Arguments& a) {
  const bool all = !a.has(3) || a[3].is<None>();
  return replace(rt.budget, *to_text(rt.budget, a[0]), *to_text(rt.budget, a[1]),
                 *to_text(rt.budget, a[2]), all ? -1 : a.integer(3));
}

Value filter_indent(Runtime& rt, Arguments& a) {
  const Text* width = a.has(1) ? a[1].text() : nullptr;
  TextBuilder spaces(rt.budget);
  if (width != nullptr)
    spaces.append(*width);
  else
    spaces.append_repeated(" ", static_cast<uint64_t>(std::max<int64_t>(0, a.integer_or(1, 4))));
  return indent(rt.budget, a.text(0), spaces.take(), a.flag_or(2, false), a.flag_or(3, false));
}

Value center_text(Runtime& rt, const Text& text, int64_t width, const Text& fill) {
  const auto size = static_cast<int64_t>(count_code_points(text.bytes));
  if (width <= size) return slice_text(rt.budget, text, 0, text.bytes.size());
  const int64_t gap = width - size;
  const int64_t left = gap / 2 + (gap & width & 1);  // CPython's rule for odd gaps
  return pad(rt.budget, text, left, gap - left, fill);
}

Value filter_center(Runtime& rt, Arguments& a) {
  return center_text(rt, *soft_text(rt.budget, a[0]), a.integer_or(1, 80), *make_text(" "));
}

Value filter_truncate(Runtime& rt, Arguments& a) {
  const int64_t length = a.integer_or(1, 255);
  const TextPtr end = a.has(3) ? a.text_ptr(3) : make_text("...");
  const int64_t leeway = a.has(4) && !a[4].is<None>() ? a.integer(4) : 5;
  const auto end_size = static_cast<int64_t>(count_code_points(end->bytes));
  if (length < end_size)
    throw bad_input("truncate: expected a length of at least {}, found {}", end_size, length);
  if (leeway < 0) throw bad_input("truncate: expected a leeway of at least 0, found {}", leeway);
  const auto whole = mlxcel::text::length(a[0]);
  if (whole && static_cast<int64_t>(*whole) - length <= leeway) return a[0];
  const Text& text = a.text(0);
  size_t cut = byte_of_code_point(text.bytes, static_cast<size_t>(length - end_size));
  if (!a.flag_or(2, false)) {
    const size_t space = std::string_view(text.bytes).substr(0, cut).rfind(' ');
    if (space != std::string::npos) cut = space;
  }
  TextBuilder out(rt.budget);
  out.append(text, 0, cut);
  out.append(*end);
  return out.finish();
}

Value filter_wordcount(Runtime& rt, Arguments& a) {
  const TextPtr text = soft_text(rt.budget, a[0]);
  rt.budget.scan(text->bytes.size());
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text->bytes.size(); at = next_code_point(text->bytes, at)) {
    const bool word = is_word(decode_code_point(text->bytes, at));
    if (word && !inside) ++words;
    inside = word;
  }
  return words;
}

Value filter_format(Runtime& rt, Arguments& a) {
  CallArguments& given = a.raw();
  const TextPtr format = soft_text(rt.budget, given.positional.at(0));
  std::vector<Value> rest(given.positional.begin() + 1, given.positional.end());
  if (given.named.empty())
    return format_percent(rt.budget, *format, make_tuple(rt.budget, std::move(rest)));
  if (!rest.empty())
    throw bad_input("format: can't handle positional and keyword arguments at the same time");
  std::vector<Dict::Entry> entries;
  for (auto& [name, value] : given.named) entries.emplace_back(Value(name), value);
  return format_percent(rt.budget, *format, Dict::build(rt.budget, std::move(entries)));
}

Value filter_escape(Runtime& rt, Arguments& a) {
  const TextPtr text = soft_text(rt.budget, a[0]);
  return text->markup ? text : escape_html(rt.budget, *text);
}

Value filter_force_escape(Runtime& rt, Arguments& a) {
  return escape_html(rt.budget, *to_text(rt.budget, a[0]));
}

Value filter_safe(Runtime& rt, Arguments& a) {
  const TextPtr text = soft_text(rt.budget, a[0]);
  rt.budget.allocate(text->bytes.size());
  auto safe = std::make_shared<Text>(*text);
  safe->markup = true;
  return TextPtr(std::move(safe));
}

Value filter_int(Runtime& rt, Arguments& a) {
  const Value fallback = a.has(1) ? a[1] : Value(int64_t{0});
  const auto truncated = [](double real) -> Value {
    if (!(std::fabs(real) < 9223372036854775808.0)) {
      throw base::resource_error("an integer does not fit in 64 bits");
    }
    return static_cast<int64_t>(real);
  };
  if (const auto integer = as_int(a[0])) return *integer;
  if (const auto* real = a[0].get<double>()) return std::isnan(*real) ? fallback : truncated(*real);
  if (a[0].is<Undefined>()) throw_undefined(a[0]);
  const Text* text = a[0].text();
  if (text == nullptr) return fallback;
  const int64_t base = a.integer_or(2, 10);
  rt.budget.scan(text->bytes.size());
  if (base == 0 || (base >= 2 && base <= 36)) {
    if (const auto number = parse_int(text->bytes, static_cast<int>(base))) return *number;
  }
  const auto real = parse_float(text->bytes);
  return real && std::isfinite(*real) ? truncated(*real) : fallback;
}

Value filter_float(Runtime& rt, Arguments& a) {
  if (const auto number = as_double(a[0])) return *number;
  if (a[0].is<Undefined>()) throw_undefined(a[0]);
  if (const Text* text = a[0].text()) {
    rt.budget.scan(text->bytes.size());
    if (const auto number = parse_float(text->bytes)) return *number;
  }
  return a.has(1) ? a[1] : Value(0.0);
}

Value filter_abs(Runtime&, Arguments& a) {
  if (const auto* real = a[0].get<double>()) return std::fabs(*real);
  if (const auto number = as_int(a[0]))
    return *number < 0 ? unary(a[0], Op::kMinus) : Value(*number);
  if (a[0].is<Undefined>()) throw_undefined(a[0]);
  throw bad_input("bad operand type for abs(): '{}'", type_name(a[0]));
}

// Python's round: to the nearest decimal of the exact value, ties to even.
double round_decimal(double real, int64_t digits) {
  if (!std::isfinite(real) || digits > 323) return real;
  if (digits < -308) return std::copysign(0.0, real);
  if (digits < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(real / scale) * scale;
  }
  char buffer[700];
  const auto shown = std::to_chars(buffer, buffer + sizeof(buffer), real, std::chars_format::fixed,
                                   static_cast<int>(digits));
  double rounded = real;
  std::from_chars(buffer, shown.ptr, rounded);
  return rounded;
}

Value filter_round(Runtime&, Arguments& a) {
  const int64_t digits = a.integer_or(1, 0);
  const std::string method = a.has(2) ? a.text(2).bytes : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    throw bad_input("round: method must be common, ceil or floor");
  }
  if (a[0].is<Undefined>()) throw_undefined(a[0]);
  const auto integer = as_int(a[0]);
  const auto real = as_double(a[0]);
  if (!real) throw bad_input("round: expected a number, found '{}'", type_name(a[0]));
  if (method == "common") {
    if (!integer) return round_decimal(*real, digits);
    if (digits >= 0) return *integer;
    if (digits < -18) return int64_t{0};
    int64_t scale = 1;
    for (int64_t i = 0; i < -digits; ++i) scale *= 10;
    int64_t rest = *integer % scale;
    const int64_t whole = *integer / scale;
    int64_t up = 0;
    const int64_t size = rest < 0 ? -rest : rest;
    if (size > scale - size || (size == scale - size && whole % 2 != 0)) up = rest < 0 ? -1 : 1;
    int64_t result = 0;
    if (__builtin_mul_overflow(whole + up, scale, &result))
      throw base::resource_error("an integer does not fit in 64 bits");
    return result;
  }
  const double scale = std::pow(10.0, static_cast<double>(std::clamp<int64_t>(digits, -300, 300)));
  const double scaled = *real * scale;
  if (!std::isfinite(scaled)) throw bad_input("round: cannot convert the number to an integer");
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

Value filter_tojson(Runtime& rt, Arguments& a) {
  JsonStyle style;
  style.ensure_ascii = a.flag_or(1, false);
  if (a.has(2) && !a[2].is<None>()) {
    if (a[2].text() != nullptr) {
      style.indent = a.text_ptr(2);
    } else {
      TextBuilder spaces(rt.budget);
      spaces.append_repeated(" ", static_cast<uint64_t>(std::max<int64_t>(0, a.integer(2))));
      style.indent = spaces.finish();
    }
  }
  if (a.has(3)) style.separators = a[3];
  style.sort_keys = a.flag_or(4, false);
  return to_json(rt.budget, a[0], style);
}

Value filter_default(Runtime&, Arguments& a) {
  const bool use = a[0].is<Undefined>() || (a.flag_or(2, false) && !truthy(a[0]));
  if (!use) return a[0];
  return a.has(1) ? a[1] : Value(make_text(""));
}

Value filter_attr(Runtime& rt, Arguments& a) {
  if (a[0].is<Undefined>()) throw_undefined(a[0]);
  if (auto found = find_attribute(rt, a[0], a.text_ptr(1))) return *found;
  return make_undefined(fmt::format("'{}' has no such attribute", type_name(a[0])));
}

Value no_such_filter(Runtime&, Arguments& a) {
  throw base::unsupported("the filter '{}' is not supported in chat templates", a.function());
}

constexpr Function kFilters[] = {
    {"upper", "value", [](Runtime& rt, Arguments& a) { return filter_case(rt, a, Case::kUpper); }},
    {"lower", "value", [](Runtime& rt, Arguments& a) { return filter_case(rt, a, Case::kLower); }},
    {"capitalize", "value",
     [](Runtime& rt, Arguments& a) -> Value {
       return capitalize(rt.budget, *soft_text(rt.budget, a[0]));
     }},
    {"title", "value",
     [](Runtime& rt, Arguments& a) -> Value {
       return title_case_filter(rt.budget, *soft_text(rt.budget, a[0]));
     }},
    {"string", "value",
     [](Runtime& rt, Arguments& a) -> Value { return soft_text(rt.budget, a[0]); }},
    {"trim", "value chars?", filter_trim},
    {"replace", "s old new count?", filter_replace},
    {"indent", "s width? first? blank?", filter_indent},
    {"center", "value width?", filter_center},
    {"truncate", "s length? killwords? end? leeway?", filter_truncate},
    {"wordcount", "s", filter_wordcount},
    {"format", "*", filter_format},
    {"escape", "s", filter_escape},
    {"e", "s", filter_escape},
    {"forceescape", "value", filter_force_escape},
    {"safe", "value", filter_safe},
    {"int", "value default? base?", filter_int},
    {"float", "value default?", filter_float},
    {"abs", "x", filter_abs},
    {"round", "value precision? method?", filter_round},
    {"tojson", "x ensure_ascii? indent? separators? sort_keys?", filter_tojson},
    {"default", "value default_value? boolean?", filter_default},
    {"d", "value default_value? boolean?", filter_default},
    {"attr", "obj name", filter_attr},
    // Known to the reference, in no chat template: named so that `is filter` and errors are right.
    {"filesizeformat", "*", no_such_filter},
    {"groupby", "*", no_such_filter},
    {"pprint", "*", no_such_filter},
    {"random", "*", no_such_filter},
    {"striptags", "*", no_such_filter},
    {"urlencode", "*", no_such_filter},
    {"urlize", "*", no_such_filter},
    {"wordwrap", "*", no_such_filter},
    {"xmlattr", "*", no_such_filter},
};

}  // namespace

Rows<Function> text_filters() { return {kFilters, std::size(kFilters)}; }

}  // namespace mlxcel::text
