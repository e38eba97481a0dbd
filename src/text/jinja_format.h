// Values as text: what Python's str(), repr(), json.dumps(), float() and int() give, with the marks
// of what a caller wrote carried along byte by byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/jinja_value.h"

namespace mlxcel::text {

// Shortest digits that read back as the same number, in Python's layout: 1.0, 1e+16, 0.0001, inf.
std::string format_float(double number);

// The syntax of Python's float() and int(); nothing when the text is not a number. parse_int throws
// when the number does not fit in 64 bits; `base` is 2..36, or 0 for the prefix to decide.
std::optional<double> parse_float(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text, int base);

// str(): text itself, '' for undefined.
void append_str(Budget& budget, TextBuilder& out, const Value& value);
TextPtr to_text(Budget& budget, const Value& value);    // str(); never Markup
TextPtr soft_text(Budget& budget, const Value& value);  // the same, but text stays what it is
void append_repr(Budget& budget, TextBuilder& out, const Value& value);

// json.dumps as transformers' `tojson` calls it.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<TextPtr> indent;  // one level of indentation; nothing means one line
  Value separators = None{};      // None, or two strings
  bool sort_keys = false;
};
TextPtr to_json(Budget& budget, const Value& value, const JsonStyle& style);

// `format % arguments` with the conversions s r d i u f e g x o c.
TextPtr format_percent(Budget& budget, const Text& format, const Value& arguments);

// The characters & < > ' " as HTML entities.
TextPtr escape_html(Budget& budget, const Text& text);

}  // namespace mlxcel::text
