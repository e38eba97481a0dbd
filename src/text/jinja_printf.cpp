// printf-style formatting of Python's str: `'%s has %d' % (name, n)`.
#include <cmath>

#include "text/jinja_format.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::unsupported;

constexpr int64_t kMaxWidth = 100'000;

struct Directive {
  bool left = false;
  bool zero = false;
  bool plus = false;
  bool space = false;
  int64_t width = 0;
  int precision = -1;
  char type = 0;
};

class PercentFormatter {
 public:
  PercentFormatter(Budget& budget, const Text& format, const Value& arguments)
      : budget_(budget), format_(format), arguments_(arguments), out_(budget) {
    const auto* sequence = arguments.get<SequencePtr>();
    if (sequence != nullptr && (*sequence)->kind == SequenceKind::kTuple) {
      tuple_ = sequence->get();
    }
  }

  TextPtr run() {
    const std::string& bytes = format_.bytes;
    while (at_ < bytes.size()) {
      const size_t percent = std::min(bytes.find('%', at_), bytes.size());
      out_.append(format_, at_, percent);
      at_ = percent;
      if (at_ < bytes.size()) directive();
    }
    // What can be indexed by a key counts as a mapping, and a mapping may be left over.
    const bool mapping =
        tuple_ == nullptr &&
        (arguments_.is<DictPtr>() || arguments_.is<SequencePtr>() || arguments_.is<Undefined>());
    const size_t given = tuple_ != nullptr ? tuple_->items.size() : 1;
    if (used_ < given && !mapping && !named_) {
      throw bad_input("not all arguments converted during string formatting");
    }
    return out_.finish();
  }

 private:
  char peek() const {
    if (at_ >= format_.bytes.size()) throw bad_input("incomplete format");
    return format_.bytes[at_];
  }

  Value next_argument() {
    if (tuple_ != nullptr) {
      if (used_ < tuple_->items.size()) return tuple_->items[used_++];
    } else if (used_ == 0) {
      ++used_;
      return arguments_;
    }
    throw bad_input("not enough arguments for format string");
  }

  int64_t integer(int64_t limit) {
    if (peek() == '*') {
      ++at_;
      const auto given = as_int(next_argument());
      if (!given) throw bad_input("* wants int");
      if (*given > limit || *given < -limit) throw unsupported("a format width above {}", limit);
      return *given;
    }
    int64_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = number * 10 + (format_.bytes[at_++] - '0');
      if (number > limit) throw unsupported("a format width above {}", limit);
    }
    return number;
  }

  void directive() {
    const Origin origin = format_.origin_at(at_++);
    std::optional<Value> value;
    if (peek() == '(') {
      const size_t end = format_.bytes.find(')', at_);
      if (end == std::string::npos) throw bad_input("incomplete format key");
      const auto* dict = arguments_.get<DictPtr>();
      if (dict == nullptr) throw bad_input("format requires a mapping");
      const std::string key = format_.bytes.substr(at_ + 1, end - at_ - 1);
      const Value* found = (*dict)->find(budget_, key);
      if (found == nullptr) throw bad_input("KeyError: '{}'", key.substr(0, 60));
      value = *found;
      named_ = true;
      at_ = end + 1;
    }
    Directive d;
    for (;; ++at_) {
      const char c = peek();
      if (c == '-')
        d.left = true;
      else if (c == '0')
        d.zero = true;
      else if (c == '+')
        d.plus = true;
      else if (c == ' ')
        d.space = true;
      else if (c != '#')
        break;
    }
    d.width = integer(kMaxWidth);
    if (d.width < 0) {
      d.left = true;
      d.width = -d.width;
    }
    if (peek() == '.') {
      ++at_;
      d.precision = static_cast<int>(std::max<int64_t>(0, integer(300)));
    }
    if (peek() == 'h' || peek() == 'l' || peek() == 'L') ++at_;
    d.type = peek();
    ++at_;
    if (d.type == '%') return out_.append("%", origin);
    if (!value) value = next_argument();
    convert(d, *value);
  }

  void convert(const Directive& d, const Value& value) {
    if (d.type == 's' || d.type == 'r') {
      TextBuilder part(budget_);
      if (d.type == 's')
        append_str(budget_, part, value);
      else
        append_repr(budget_, part, value);
      const Text text = part.take();
      size_t end = text.bytes.size();
      if (d.precision >= 0) end = byte_of_code_point(text.bytes, static_cast<size_t>(d.precision));
      return pad(d, *slice_text(budget_, text, 0, end), "");
    }
    if (d.type == 'c') {
      if (const auto* text = value.text(); text != nullptr && count_code_points(text->bytes) == 1) {
        return pad(d, *text, "");
      }
      throw unsupported("the format %c of '{}'", type_name(value));
    }
    const auto real = as_double(value);
    if (!real) {
      if (const auto* undefined = value.get<Undefined>())
        throw bad_input("{}", *undefined->message);
      throw bad_input("%{} format: a number is required, not {}", d.type, type_name(value));
    }
    std::string digits;
    bool negative = false;
    switch (d.type) {
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        int64_t number = 0;
        if (const auto exact = as_int(value)) {
          number = *exact;
        } else if (d.type != 'd' && d.type != 'i' && d.type != 'u') {
          throw bad_input("%{} format: an integer is required, not float", d.type);
        } else if (!(std::fabs(*real) < 9.2e18)) {
          throw base::resource_error("an integer does not fit in 64 bits");
        } else {
          number = static_cast<int64_t>(*real);
        }
        negative = number < 0;
        const uint64_t size =
            negative ? ~static_cast<uint64_t>(number) + 1 : static_cast<uint64_t>(number);
        digits = d.type == 'x'   ? fmt::format("{:x}", size)
                 : d.type == 'X' ? fmt::format("{:X}", size)
                 : d.type == 'o' ? fmt::format("{:o}", size)
                                 : fmt::format("{}", size);
        if (d.precision > static_cast<int>(digits.size())) {
          digits.insert(0, static_cast<size_t>(d.precision) - digits.size(), '0');
        }
        break;
      }
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G': {
        negative = std::signbit(*real);
        const double size = std::fabs(*real);
        const int precision = d.precision < 0 ? 6 : d.precision;
        const char kind = static_cast<char>(d.type | 0x20);
        digits = kind == 'f'   ? fmt::format("{:.{}f}", size, precision)
                 : kind == 'e' ? fmt::format("{:.{}e}", size, precision)
                               : fmt::format("{:.{}g}", size, precision);
        if (d.type == 'E' || d.type == 'G') {
          for (char& c : digits) c = c == 'e' ? 'E' : c;
        }
        break;
      }
      default:
        throw bad_input("unsupported format character '{}'", d.type);
    }
    pad(d, *make_text(std::move(digits)), negative ? "-" : d.plus ? "+" : d.space ? " " : "");
  }

  void pad(const Directive& d, const Text& body, std::string_view sign) {
    const auto size = static_cast<int64_t>(count_code_points(body.bytes) + sign.size());
    const auto fill = static_cast<uint64_t>(std::max<int64_t>(0, d.width - size));
    const bool number = d.type != 's' && d.type != 'r' && d.type != 'c';
    if (!d.left && !(d.zero && number)) out_.append_repeated(" ", fill);
    out_.append(sign);
    if (!d.left && d.zero && number) out_.append_repeated("0", fill);
    out_.append(body);
    if (d.left) out_.append_repeated(" ", fill);
  }

  Budget& budget_;
  const Text& format_;
  const Value& arguments_;
  const Sequence* tuple_ = nullptr;
  TextBuilder out_;
  size_t at_ = 0;
  size_t used_ = 0;
  bool named_ = false;
};

}  // namespace

TextPtr format_percent(Budget& budget, const Text& format, const Value& arguments) {
  return PercentFormatter(budget, format, arguments).run();
}

}  // namespace mlxcel::text
