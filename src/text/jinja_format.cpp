#include "text/jinja_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja_call.h"
#include "text/jinja_unicode.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::resource_error;

// Python's number syntax without white space around it and with single underscores between digits
// taken out; nothing when the underscores or the characters cannot be right.
std::optional<std::string> plain_number(std::string_view text) {
  size_t begin = 0;
  size_t end = text.size();
  while (begin < end && is_space(decode_code_point(text, begin)))
    begin = next_code_point(text, begin);
  while (begin < end && is_space(decode_code_point(text, previous_code_point(text, end)))) {
    end = previous_code_point(text, end);
  }
  text = text.substr(begin, end - begin);
  const auto alnum = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (static_cast<uint8_t>(text[i]) >= 0x80) {  // digits of other scripts count
      const int digit = decimal_value(decode_code_point(text, i));
      if (digit < 0) return std::nullopt;
      plain += static_cast<char>('0' + digit);
      i = next_code_point(text, i) - 1;
      continue;
    }
    if (text[i] == '_') {
      if (i == 0 || i + 1 == text.size() || !alnum(text[i - 1]) || !alnum(text[i + 1]))
        return std::nullopt;
      continue;
    }
    plain += text[i];
  }
  if (plain.empty()) return std::nullopt;
  return plain;
}

class Representer {
 public:
  Representer(Budget& budget, TextBuilder& out) : budget_(budget), out_(out) {}

  void append(const Value& value) {
    const Budget::Level level(budget_);
    budget_.step();
    if (const auto* text = value.text()) {
      append_text(*text);
    } else if (const auto* sequence = value.get<SequencePtr>()) {
      append_sequence(**sequence);
    } else if (const auto* dict = value.get<DictPtr>()) {
      append_entries((*dict)->entries());
    } else if (const auto* names = value.get<NamespacePtr>()) {
      append_namespace(**names);
    } else if (value.is<Undefined>()) {
      out_.append("Undefined");
    } else if (const auto* generator = value.get<GeneratorPtr>()) {
      out_.append(fmt::format("<{} object>", (*generator)->type));
    } else if (const auto* callable = value.get<CallablePtr>()) {
      out_.append(fmt::format("<{} '{}'>", type_name(value), callable_name(**callable)));
    } else {
      append_str(budget_, out_, value);
    }
  }

 private:
  void append_text(const Text& text) {
    const bool double_quoted =
        text.bytes.find('\'') != std::string::npos && text.bytes.find('"') == std::string::npos;
    const char quote = double_quoted ? '"' : '\'';
    if (text.markup) out_.append("Markup(");
    out_.append({&quote, 1});
    size_t plain = 0;  // start of the characters that need no escape
    for (size_t at = 0; at < text.bytes.size();) {
      const size_t end = next_code_point(text.bytes, at);
      const char32_t c = decode_code_point(text.bytes, at);
      std::string escape;
      if (c == '\\' || c == static_cast<char32_t>(quote))
        escape = {'\\', static_cast<char>(c)};
      else if (c == '\n')
        escape = "\\n";
      else if (c == '\r')
        escape = "\\r";
      else if (c == '\t')
        escape = "\\t";
      else if (!is_printable(c)) {
        const auto code = static_cast<uint32_t>(c);
        escape = code < 0x100     ? fmt::format("\\x{:02x}", code)
                 : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                  : fmt::format("\\U{:08x}", code);
      }
      if (!escape.empty()) {
        out_.append(text, plain, at);
        out_.append(escape, text.origin_at(at));
        plain = end;
      }
      at = end;
    }
    out_.append(text, plain, text.bytes.size());
    out_.append({&quote, 1});
    if (text.markup) out_.append(")");
  }

  void append_sequence(const Sequence& sequence) {
    constexpr std::string_view kOpen[] = {
        "[", "(", "range(", "dict_keys([", "dict_values([", "dict_items(["};
    constexpr std::string_view kClose[] = {"]", ")", ")", "])", "])", "])"};
    const auto kind = static_cast<size_t>(sequence.kind);
    out_.append(kOpen[kind]);
    if (sequence.kind == SequenceKind::kRange) {
      const auto [start, stop, step] = sequence.range;
      out_.append(step == 1 ? fmt::format("{}, {}", start, stop)
                            : fmt::format("{}, {}, {}", start, stop, step));
    } else {
      for (size_t i = 0; i < sequence.items.size(); ++i) {
        if (i > 0) out_.append(", ");
        append(sequence.items[i]);
      }
      if (sequence.kind == SequenceKind::kTuple && sequence.items.size() == 1) out_.append(",");
    }
    out_.append(kClose[kind]);
  }

  template <typename Entries>
  void append_entries(const Entries& entries) {
    out_.append("{");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.append(", ");
      append(Value(entries[i].first));
      out_.append(": ");
      append(entries[i].second);
    }
    out_.append("}");
  }

  void append_namespace(const Namespace& names) {
    out_.append("<Namespace ");
    if (std::find(open_.begin(), open_.end(), &names) != open_.end()) {
      out_.append("{...}");
    } else {
      open_.push_back(&names);
      append_entries(names.entries);
      open_.pop_back();
    }
    out_.append(">");
  }

  Budget& budget_;
  TextBuilder& out_;
  std::vector<const Namespace*> open_;  // those being written, to stop at a cycle
};

}  // namespace

std::string format_float(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific).ptr;
  const std::string_view shown(buffer, static_cast<size_t>(end - buffer));
  const size_t mark = shown.find('e');
  int exponent = 0;
  const char* digits_at = shown.data() + mark + (shown[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits_at, end, exponent);
  const bool negative = shown[0] == '-';
  std::string digits;
  for (const char c : shown.substr(0, mark)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string text = negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    text += digits[0];
    if (digits.size() > 1) text += "." + digits.substr(1);
    return text + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return text + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return text + digits + std::string(whole - digits.size(), '0') + ".0";
  return text + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<double> parse_float(std::string_view text) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  std::string_view rest = *plain;
  const bool negative = rest[0] == '-';
  if (rest[0] == '-' || rest[0] == '+') rest.remove_prefix(1);
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
  double number = 0;
  // from_chars knows "nan(...)", Python does not.
  if (rest.find('(') != std::string_view::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (end != rest.data() + rest.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small; the exponent's sign tells which.
    const size_t mark = rest.find_first_of("eE");
    const bool tiny =
        mark != std::string_view::npos ? rest[mark + 1] == '-' : rest[0] == '0' || rest[0] == '.';
    number = tiny ? 0.0 : HUGE_VAL;
  }
  return negative ? -number : number;
}

std::optional<int64_t> parse_int(std::string_view text, int base) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  std::string_view rest = *plain;
  const bool negative = rest[0] == '-';
  if (rest[0] == '-' || rest[0] == '+') rest.remove_prefix(1);
  if (rest.size() > 1 && rest[0] == '0') {
    const char letter = static_cast<char>(rest[1] | 0x20);
    const int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefix != 0 && (base == prefix || base == 0)) {
      base = prefix;
      rest.remove_prefix(2);
    }
  }
  if (base == 0) {
    if (rest.size() > 1 && rest[0] == '0' && rest.find_first_not_of('0') != std::string_view::npos)
      return std::nullopt;
    base = 10;
  }
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
  const std::string digits = (negative ? "-" : "") + std::string(rest);
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    throw resource_error("an integer does not fit in 64 bits");
  return number;
}

void append_str(Budget& budget, TextBuilder& out, const Value& value) {
  if (value.is<Missing>() || value.is<Undefined>()) return;
  if (const auto* text = value.text()) return out.append(*text);
  if (value.is<None>()) return out.append("None");
  if (const auto* flag = value.get<bool>()) return out.append(*flag ? "True" : "False");
  if (const auto* integer = value.get<int64_t>()) return out.append(fmt::format("{}", *integer));
  if (const auto* real = value.get<double>()) return out.append(format_float(*real));
  if (value.is<LoopPtr>()) return out.append("<LoopContext>");
  Representer(budget, out).append(value);
}

TextPtr to_text(Budget& budget, const Value& value) {
  const auto* held = value.get<TextPtr>();
  if (held != nullptr && !(*held)->markup) return *held;
  TextBuilder out(budget);
  append_str(budget, out, value);
  return out.finish();
}

TextPtr soft_text(Budget& budget, const Value& value) {
  const auto* held = value.get<TextPtr>();
  return held != nullptr ? *held : to_text(budget, value);
}

void append_repr(Budget& budget, TextBuilder& out, const Value& value) {
  Representer(budget, out).append(value);
}

TextPtr escape_html(Budget& budget, const Text& text) {
  TextBuilder out(budget);
  size_t plain = 0;
  for (size_t at = 0; at < text.bytes.size(); ++at) {
    std::string_view entity;
    switch (text.bytes[at]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      case '"':
        entity = "&#34;";
        break;
      default:
        continue;
    }
    out.append(text, plain, at);
    out.append(entity, text.origin_at(at));
    plain = at + 1;
  }
  out.append(text, plain, text.bytes.size());
  Text escaped = out.take();
  escaped.markup = true;
  return std::make_shared<const Text>(std::move(escaped));
}

}  // namespace mlxcel::text
