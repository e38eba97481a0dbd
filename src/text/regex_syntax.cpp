#include "text/regex_syntax.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace mlxcel::text {
namespace {

// Oniguruma's Unicode \s is the White_Space property; PCRE2's also has U+180E.
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
// \w: Alphabetic (letters, letter numbers and the circled and squared letters), marks, decimal
// digits and connector punctuation; PCRE2's is letters, numbers and the underscore.
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

constexpr std::array<std::string_view, 38> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
    "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
    "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cs", "Co", "Cn", "Any"};

constexpr std::array<std::string_view, 9> kGroups = {
    "?:", "?=", "?!", "?>", "?<=", "?<!", "?i:", "?-i:", "?i)"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where) : in_(pattern), where_(where) {}

  std::string run() {
    while (at_ < in_.size()) {
      switch (in_[at_]) {
        case '\\':
          escape();
          break;
        case '[':
          bracket();
          break;
        case '(':
          group();
          break;
        case '{':
          braces();
          break;
        default:
          out_ += in_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view construct) const {
    throw base::unsupported("{}: the pattern uses '{}', which this program does not support",
                            where_, construct);
  }
  char peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }

  void group() {
    const std::string_view rest = in_.substr(at_ + 1);
    if (rest.starts_with('*')) refuse("(*");
    if (rest.starts_with('?') &&
        std::none_of(kGroups.begin(), kGroups.end(),
                     [&](std::string_view known) { return rest.starts_with(known); })) {
      refuse(in_.substr(at_, 4));
    }
    out_ += in_[at_++];
    if (peek() != '?') return;
    // The mark belongs to the bracket: it is not a quantifier.
    out_ += in_[at_++];
  }

  // {2}, {2,} and {2,5} are quantifiers, any other brace stands for itself.
  void braces() {
    size_t i = at_ + 1;
    const auto digits = [&] {
      const size_t begin = i;
      while (i < in_.size() && is_digit(in_[i])) ++i;
      return i > begin;
    };
    const bool has_low = digits();
    bool ranged = false;
    if (i < in_.size() && in_[i] == ',') {
      ranged = true;
      ++i;
      digits();
    }
    const bool quantifier = (has_low || ranged) && i < in_.size() && in_[i] == '}';
    if (!quantifier) {
      out_ += "\\{";
      ++at_;
      return;
    }
    const std::string_view text = in_.substr(at_, i + 1 - at_);
    if (!has_low) refuse(text);
    at_ = i + 1;
    if (peek() == '+')
      refuse(in_.substr(i + 1 - text.size(),
                        text.size() + 1));  // greedy in one, possessive in the other
    out_ += text;
  }

  // Escapes that mean the same inside and outside brackets. False when this is not one of them.
  bool common_escape() {
    const char c = peek(1);
    if (c == '\0') refuse("\\ at the end");
    if (c == 'p' || c == 'P') {
      property();
    } else if (c == 'x' || c == 'u') {
      code_point();
    } else if (std::string_view("dDrntfae").find(c) != std::string_view::npos) {
      out_ += in_.substr(at_, 2);
      at_ += 2;
    } else if (c == 'v') {  // one character; PCRE2 means any vertical space
      out_ += "\\x{b}";
      at_ += 2;
    } else if (!is_letter(c) && !is_digit(c) && static_cast<unsigned char>(c) < 0x80) {
      out_ += in_.substr(at_, 2);
      at_ += 2;
    } else {
      return false;
    }
    return true;
  }

  void escape() {
    if (common_escape()) return;
    const char c = peek(1);
    switch (c) {
      case 's':
        out_.append("[").append(kSpace).append("]");
        break;
      case 'S':
        out_.append("[^").append(kSpace).append("]");
        break;
      case 'w':
        out_.append("[").append(kWord).append("]");
        break;
      case 'W':
        out_.append("[^").append(kWord).append("]");
        break;
      case 'A':
        out_ += "\\A";
        break;
      case 'z':
        out_ += "\\z";
        break;
      default:
        refuse(in_.substr(at_, 2));
    }
    at_ += 2;
  }

  void property() {
    const size_t begin = at_;
    const char kind = peek(1);
    at_ += 2;
    const size_t close = peek() == '{' ? in_.find('}', at_) : std::string_view::npos;
    if (close == std::string_view::npos) refuse(in_.substr(begin, 3));
    std::string_view name = in_.substr(at_ + 1, close - at_ - 1);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    if (name.empty() ||
        !std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '_'; })) {
      refuse(in_.substr(begin, close + 1 - begin));
    }
    const bool category =
        std::find(kCategories.begin(), kCategories.end(), name) != kCategories.end();
    // A bare script name is Script in Oniguruma and Script_Extensions in PCRE2.
    out_.append({'\\', kind, '{'})
        .append(negated ? "^" : "")
        .append(category ? "" : "sc:")
        .append(name);
    out_ += '}';
    at_ = close + 1;
  }

  // \x{H...}, \xHH of ASCII, \uHHHH.
  void code_point() {
    const size_t begin = at_;
    const bool braced = peek(1) == 'x' && peek(2) == '{';
    const size_t most = braced ? 6 : (peek(1) == 'u' ? 4 : 2);
    at_ += braced ? 3 : 2;
    const size_t first = at_;
    while (at_ < in_.size() && at_ - first < most && is_hex(in_[at_])) ++at_;
    const std::string_view digits = in_.substr(first, at_ - first);
    const bool whole = braced ? (!digits.empty() && peek() == '}') : digits.size() == most;
    const bool lone_byte = most == 2 && !digits.empty() && digits[0] >= '8';
    if (!whole || lone_byte) refuse(in_.substr(begin, at_ - begin));
    out_.append("\\x{").append(digits).append("}");
    if (braced) ++at_;
  }

  void bracket() {
    out_ += in_[at_++];
    if (peek() == '^') out_ += in_[at_++];
    if (peek() == ']') refuse("[]");
    const size_t begin = at_;
    for (;;) {
      if (at_ >= in_.size()) refuse("[ without ]");
      const char c = in_[at_];
      if (c == ']') break;
      if (c == '[') refuse("[ inside [");
      if (c == '&' && peek(1) == '&') refuse("&&");
      if (c != '\\') {
        out_ += in_[at_++];
      } else if (!common_escape()) {
        set_escape(begin);
      }
    }
    out_ += in_[at_++];
  }

  // \s and its like inside brackets. They expand to several ranges, so they cannot be an end of
  // one.
  void set_escape(size_t begin) {
    const std::string_view text = in_.substr(at_, 2);
    const bool after_hyphen = at_ >= begin + 2 && in_[at_ - 1] == '-' && in_[at_ - 2] != '\\';
    const bool before_hyphen = peek(2) == '-' && peek(3) != ']';
    if (after_hyphen || before_hyphen) refuse(in_.substr(at_, 3));
    if (text == "\\s") {
      out_ += kSpace;
    } else if (text == "\\S") {
      out_ += kNotSpace;
    } else if (text == "\\w") {
      out_ += kWord;
    } else {
      refuse(text);
    }
    at_ += 2;
  }

  std::string_view in_;
  const std::string& where_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string oniguruma_to_pcre2(std::string_view pattern, const std::string& where) {
  return Translator(pattern, where).run();
}

std::string quote_for_pcre2(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain = is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
    if (!plain) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace mlxcel::text
