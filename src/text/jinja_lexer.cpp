#include "text/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja_format.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::unsupported;

constexpr size_t kNone = std::string::npos;

std::string normalize_newlines(const std::string& source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  const int letter = (c | 0x20) - 'a';
  return letter >= 0 && letter < 6 ? letter + 10 : 99;
}

class Lexer {
 public:
  Lexer(const std::string& source, const std::string& name)
      : source_(normalize_newlines(source)), name_(name) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  enum class Tag : uint8_t { kBlock, kVariable, kComment, kRaw };

  // Text up to the next tag, and what is in the tag.
  void root() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == kNone || tag + 1 >= source_.size()) {
        data(at_, source_.size());
        at_ = source_.size();
        return;
      }
      if (source_[tag + 1] == '%' || source_[tag + 1] == '{' || source_[tag + 1] == '#') break;
    }
    Tag kind = source_[tag + 1] == '%'   ? Tag::kBlock
               : source_[tag + 1] == '{' ? Tag::kVariable
                                         : Tag::kComment;
    size_t inside = tag + 2;
    const char sign = sign_at(inside);
    if (sign != 0) ++inside;
    if (kind == Tag::kBlock) {
      if (const auto end = raw_begin(inside)) {
        kind = Tag::kRaw;
        inside = *end;
      }
    }
    data(at_, strip_before_tag(at_, tag, sign, kind != Tag::kVariable));
    at_ = tag;
    if (kind == Tag::kComment) return comment(inside);
    if (kind == Tag::kRaw) return raw(inside);
    push(kind == Tag::kBlock ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
    at_ = inside;
    line_starting_ = false;
    inside_tag(kind == Tag::kBlock);
  }

  // The end of the text before a tag, after what the tag's sign or lstrip_blocks removes.
  size_t strip_before_tag(size_t begin, size_t end, char sign, bool lstrip) const {
    const auto space_run = [&](size_t from) {
      while (end > from) {
        const size_t previous = previous_code_point(source_, end);
        if (!is_space(decode_code_point(source_, previous))) break;
        end = previous;
      }
      return end;
    };
    if (sign == '-') return space_run(begin);
    if (sign == '+' || !lstrip) return end;
    const size_t newline = std::string_view(source_).substr(begin, end - begin).rfind('\n');
    if (newline == kNone && !line_starting_) return end;
    const size_t line_begin = newline == kNone ? begin : begin + newline + 1;
    const size_t whole = end;
    return space_run(line_begin) == line_begin ? line_begin : whole;
  }

  char sign_at(size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }

  bool has(size_t at, std::string_view text) const {
    return source_.compare(at, text.size(), text) == 0;
  }

  size_t skip_space(size_t at) const {
    while (at < source_.size() && is_space(decode_code_point(source_, at)))
      at = next_code_point(source_, at);
    return at;
  }

  // After `{%` and its sign: the end of `raw %}`, when that is what stands here.
  std::optional<size_t> raw_begin(size_t at) const {
    at = skip_space(at);
    if (!has(at, "raw")) return std::nullopt;
    at = skip_space(at + 3);
    if (has(at, "-%}")) return skip_space(at + 3);
    if (has(at, "%}")) return at + 2;
    return std::nullopt;
  }

  // The end of a tag that begins at `at`: `+%}`, `-%}` with the space after it, `%}` with a
  // newline.
  std::optional<size_t> block_end(size_t at, std::string_view close) const {
    if (has(at, close)) {
      at += close.size();
      return at < source_.size() && source_[at] == '\n' ? at + 1 : at;
    }
    const char sign = sign_at(at);
    if (sign == 0 || !has(at + 1, close)) return std::nullopt;
    at += 1 + close.size();
    return sign == '-' ? skip_space(at) : at;
  }

  void moved_to(size_t at) {
    line_starting_ = at > 0 && source_[at - 1] == '\n';
    at_ = at;
  }

  void comment(size_t inside) {
    size_t end = source_.find("#}", inside);
    if (end == kNone) {
      if (inside < source_.size()) fail("Missing end of comment tag");
      return moved_to(inside);  // the reference lets a comment pass that opens at the very end
    }
    if (end > inside && sign_at(end - 1) != 0) --end;
    moved_to(*block_end(end, "#}"));
  }

  void raw(size_t inside) {
    const size_t begin = inside;
    line_starting_ = source_[begin - 1] == '\n';
    for (size_t tag = source_.find("{%", begin); tag != kNone; tag = source_.find("{%", tag + 2)) {
      size_t at = tag + 2;
      const char sign = sign_at(at);
      at = skip_space(sign != 0 ? at + 1 : at);
      if (!has(at, "endraw")) continue;
      const auto end = block_end(skip_space(at + 6), "%}");
      if (!end) continue;
      data(begin, strip_before_tag(begin, tag, sign, true));
      return moved_to(*end);
    }
    if (begin < source_.size()) fail("Missing end of raw directive");
    moved_to(begin);
  }

  void inside_tag(bool block) {
    std::vector<char> open;
    while (at_ < source_.size()) {
      if (open.empty()) {
        std::optional<size_t> end;
        if (block) {
          end = block_end(at_, "%}");
        } else if (has(at_, "}}")) {
          end = at_ + 2;
        } else if (has(at_, "-}}")) {
          end = skip_space(at_ + 3);
        }
        if (end) {
          push(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
          return moved_to(*end);
        }
      }
      const size_t after_space = skip_space(at_);
      if (after_space != at_) {
        at_ = after_space;
        continue;
      }
      const char c = source_[at_];
      if (is_ascii_digit(c))
        number();
      else if (c == '\'' || c == '"')
        string();
      else if (name_character(at_))
        identifier();
      else
        operator_token(open);
    }
  }

  bool name_character(size_t at) const {
    const char32_t c = decode_code_point(source_, at);
    return is_word(c);
  }

  void identifier() {
    size_t end = at_;
    while (end < source_.size() && name_character(end)) end = next_code_point(source_, end);
    push(TokenKind::kName, source_.substr(at_, end - at_));
    at_ = end;
  }

  // The end of digits of a base with single underscores between them, from `at`; `at` when none.
  size_t digits(size_t at, int base) const {
    const auto valid = [&](size_t i) {
      if (i >= source_.size()) return false;
      return digit_value(source_[i]) < base;
    };
    while (valid(at) || (at < source_.size() && source_[at] == '_' && valid(at + 1))) ++at;
    return at;
  }

  void number() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const size_t whole = digits(at_, 10);
    size_t end = whole;
    bool is_float = false;
    if (!after_dot) {
      if (has(end, ".") && end + 1 < source_.size() && is_ascii_digit(source_[end + 1])) {
        end = digits(end + 1, 10);
        is_float = true;
      }
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        const size_t first = end + 1 + (sign_at(end + 1) != 0 ? 1 : 0);
        if (first < source_.size() && is_ascii_digit(source_[first])) {
          end = digits(first, 10);
          is_float = true;
        }
      }
    }
    if (!is_float) end = integer_end(whole);
    const std::string shown = source_.substr(at_, end - at_);
    Token& token = push(is_float ? TokenKind::kFloat : TokenKind::kInteger, shown);
    if (is_float) {
      token.real = parse_float(shown).value_or(0.0);
    } else {
      try {
        token.integer = parse_int(shown, 0).value_or(0);
      } catch (const base::Error&) {
        throw unsupported("{}:{}: integer {} does not fit in 64 bits", name_, line(),
                          shown.substr(0, 40));
      }
    }
    at_ = end;
  }

  size_t integer_end(size_t decimal_end) const {
    if (source_[at_] != '0') return decimal_end;
    if (at_ + 1 < source_.size()) {
      const char letter = static_cast<char>(source_[at_ + 1] | 0x20);
      const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
      if (base != 0) {
        const size_t end = digits(at_ + 2, base);
        if (end > at_ + 2) return end;
      }
    }
    return digits(at_, 1);  // zeros only: "012" is 0 followed by 12
  }

  void string() {
    const char quote = source_[at_];
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
      fail(fmt::format("unexpected char {}, a string that does not end", quote));
    std::string value = unescape(at_ + 1, end);
    push(TokenKind::kString, std::move(value));
    at_ = end + 1;
  }

  // Python's "unicode-escape" codec.
  std::string unescape(size_t at, size_t end) {
    std::string out;
    while (at < end) {
      if (source_[at] != '\\') {
        out += source_[at++];
        continue;
      }
      const char c = source_[++at];
      constexpr std::string_view kLetters = "\\'\"abfnrtv\n";
      constexpr std::array<std::string_view, 11> kMeanings = {"\\", "'",  "\"", "\a", "\b", "\f",
                                                              "\n", "\r", "\t", "\v", ""};
      if (const size_t known = kLetters.find(c); known != kNone) {
        out += kMeanings[known];
        ++at;
      } else if (c >= '0' && c <= '7') {
        uint32_t code = 0;
        for (int i = 0; i < 3 && at < end && source_[at] >= '0' && source_[at] <= '7'; ++i) {
          code = code * 8 + static_cast<uint32_t>(source_[at++] - '0');
        }
        base::append_utf8(out, code);
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        const size_t stop = std::min(digits_of_escape(at + 1, end), at + 1 + count);
        if (stop != at + 1 + count) fail(fmt::format("truncated \\{} escape in a string", c));
        const auto code =
            static_cast<uint32_t>(std::stoul(source_.substr(at + 1, count), nullptr, 16));
        if (code > 0x10FFFF) fail("illegal Unicode character in a string");
        if (code >= 0xD800 && code <= 0xDFFF) {
          throw unsupported("{}:{}: a surrogate escape in a string", name_, line());
        }
        base::append_utf8(out, code);
        at = stop;
      } else if (c == 'N') {
        throw unsupported("{}:{}: a \\N{{...}} escape in a string", name_, line());
      } else if (static_cast<uint8_t>(c) >= 0x80) {
        // The codec sees the character as an escape of its own, whose backslash is now escaped.
        const auto code = static_cast<uint32_t>(decode_code_point(source_, at));
        out += code < 0x100     ? fmt::format("\\x{:02x}", code)
               : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                : fmt::format("\\U{:08x}", code);
        at = next_code_point(source_, at);
      } else {
        out += '\\';
      }
    }
    return out;
  }

  size_t digits_of_escape(size_t at, size_t end) const {
    for (size_t i = 0; i < 8 && at < end && digit_value(source_[at]) < 16; ++i) ++at;
    return at;
  }

  void operator_token(std::vector<char>& open) {
    constexpr std::string_view kLong[] = {"**", "//", "==", "!=", ">=", "<="};
    constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
    for (const std::string_view op : kLong) {
      if (has(at_, op)) {
        push(TokenKind::kOperator, std::string(op));
        at_ += 2;
        return;
      }
    }
    const char c = source_[at_];
    if (kShort.find(c) == kNone) {
      fail(fmt::format("unexpected character '{}'",
                       source_.substr(at_, next_code_point(source_, at_) - at_)));
    }
    if (c == '{') open.push_back('}');
    if (c == '(') open.push_back(')');
    if (c == '[') open.push_back(']');
    if (c == '}' || c == ')' || c == ']') {
      if (open.empty()) fail(fmt::format("unexpected '{}'", c));
      if (open.back() != c) fail(fmt::format("unexpected '{}', expected '{}'", c, open.back()));
      open.pop_back();
    }
    push(TokenKind::kOperator, std::string(1, c));
    ++at_;
  }

  void data(size_t begin, size_t end) {
    if (begin < end) push(TokenKind::kData, source_.substr(begin, end - begin));
  }

  Token& push(TokenKind kind, std::string text) {
    tokens_.push_back({kind, line(), std::move(text)});
    return tokens_.back();
  }

  int line() {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(counted_),
                                         source_.begin() + static_cast<ptrdiff_t>(at_), '\n'));
    counted_ = at_;
    return line_;
  }

  [[noreturn]] void fail(const std::string& message) {
    throw bad_input("{}:{}: {}", name_, line(), message);
  }

  std::string source_;
  std::string name_;
  size_t at_ = 0;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
  size_t counted_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(const std::string& source, const std::string& name) {
  return Lexer(source, name).run();
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "text";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEnd:
      return "end of template";
    default:
      return fmt::format("'{}'", token.text.substr(0, 60));
  }
}

}  // namespace mlxcel::text
