// json.dumps over template values.
#include <algorithm>
#include <cmath>

#include "text/jinja_format.h"

namespace mlxcel::text {
namespace {

using base::bad_input;

class Writer {
 public:
  Writer(Budget& budget, const JsonStyle& style, TextPtr item_separator, TextPtr key_separator)
      : budget_(budget),
        style_(style),
        item_separator_(std::move(item_separator)),
        key_separator_(std::move(key_separator)),
        out_(budget) {}

  TextPtr write(const Value& value) {
    append(value, 0);
    return out_.finish();
  }

 private:
  void append(const Value& value, int level) {
    budget_.step();
    if (const auto* text = value.text()) return append_string(*text);
    if (value.is<None>()) return out_.append("null");
    if (const auto* flag = value.get<bool>()) return out_.append(*flag ? "true" : "false");
    if (const auto* integer = value.get<int64_t>()) return out_.append(fmt::format("{}", *integer));
    if (const auto* real = value.get<double>()) return out_.append(number(*real));
    const auto* sequence = value.get<SequencePtr>();
    if (sequence != nullptr && (*sequence)->kind <= SequenceKind::kTuple) {
      const auto& items = (*sequence)->items;
      if (items.empty()) return out_.append("[]");
      out_.append("[");
      for (size_t i = 0; i < items.size(); ++i) {
        separate(i, level + 1);
        append(items[i], level + 1);
      }
      new_line(level);
      return out_.append("]");
    }
    if (const auto* dict = value.get<DictPtr>()) return append_dict(**dict, level);
    throw bad_input("Object of type {} is not JSON serializable", type_name(value));
  }

  void append_dict(const Dict& dict, int level) {
    if (dict.entries().empty()) return out_.append("{}");
    std::vector<const Dict::Entry*> order;
    budget_.allocate(dict.entries().size(), sizeof(void*));
    for (const auto& entry : dict.entries()) order.push_back(&entry);
    if (style_.sort_keys) {
      const auto before = [&](const Dict::Entry* a, const Dict::Entry* b) {
        const auto ordered = compare(budget_, a->first, b->first, "<");
        if (!ordered) throw bad_input("tojson cannot sort a key that is not a number");
        return *ordered < 0;
      };
      std::stable_sort(order.begin(), order.end(), before);
    }
    out_.append("{");
    for (size_t i = 0; i < order.size(); ++i) {
      separate(i, level + 1);
      append_key(order[i]->first);
      out_.append(*key_separator_);
      append(order[i]->second, level + 1);
    }
    new_line(level);
    out_.append("}");
  }

  void append_key(const Value& key) {
    if (const auto* text = key.text()) return append_string(*text);
    std::string shown;
    if (key.is<None>())
      shown = "null";
    else if (const auto* flag = key.get<bool>())
      shown = *flag ? "true" : "false";
    else if (const auto* integer = key.get<int64_t>())
      shown = fmt::format("{}", *integer);
    else if (const auto* real = key.get<double>())
      shown = number(*real);
    else
      throw bad_input("keys must be str, int, float, bool or None, not {}", type_name(key));
    out_.append("\"" + shown + "\"");
  }

  void append_string(const Text& text) {
    out_.append("\"");
    size_t plain = 0;
    for (size_t at = 0; at < text.bytes.size();) {
      const size_t end = next_code_point(text.bytes, at);
      const std::string escape = escape_of(decode_code_point(text.bytes, at));
      if (!escape.empty()) {
        out_.append(text, plain, at);
        out_.append(escape, text.origin_at(at));
        plain = end;
      }
      at = end;
    }
    out_.append(text, plain, text.bytes.size());
    out_.append("\"");
  }

  std::string escape_of(char32_t c) const {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\f':
        return "\\f";
      case '\b':
        return "\\b";
      default:
        break;
    }
    const auto code = static_cast<uint32_t>(c);
    if (code < 0x20) return fmt::format("\\u{:04x}", code);
    if (!style_.ensure_ascii || code < 0x7F) return {};
    if (code < 0x10000) return fmt::format("\\u{:04x}", code);
    const uint32_t offset = code - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10U), 0xDC00 + (offset & 0x3FFU));
  }

  static std::string number(double real) {
    if (std::isnan(real)) return "NaN";
    if (std::isinf(real)) return real > 0 ? "Infinity" : "-Infinity";
    return format_float(real);
  }

  void separate(size_t index, int level) {
    if (index > 0) out_.append(*item_separator_);
    new_line(level);
  }

  void new_line(int level) {
    if (!style_.indent) return;
    out_.append("\n");
    for (int i = 0; i < level; ++i) out_.append(**style_.indent);
  }

  Budget& budget_;
  const JsonStyle& style_;
  TextPtr item_separator_;
  TextPtr key_separator_;
  TextBuilder out_;
};

}  // namespace

TextPtr to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  TextPtr item = make_text(style.indent ? "," : ", ");
  TextPtr key = make_text(": ");
  if (!style.separators.is<None>()) {
    const auto parts = iterate(budget, style.separators);
    if (parts.size() != 2 || parts[0].text() == nullptr || parts[1].text() == nullptr) {
      throw bad_input("tojson: separators must be two strings");
    }
    item = *parts[0].get<TextPtr>();
    key = *parts[1].get<TextPtr>();
  }
  return Writer(budget, style, std::move(item), std::move(key)).write(value);
}

}  // namespace mlxcel::text
