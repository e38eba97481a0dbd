// Methods of strings.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/jinja_call.h"
#include "text/jinja_format.h"
#include "text/jinja_operators.h"
#include "text/jinja_strings.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::unsupported;

template <TextPtr (*operation)(Budget&, const Text&)>
Value apply_text(Runtime& rt, Arguments& a) {
  return operation(rt.budget, a.text(0));
}

template <Case to>
Value method_case(Runtime& rt, Arguments& a) {
  return convert_case(rt.budget, a.text(0), to);
}

template <Side side>
Value method_strip(Runtime& rt, Arguments& a) {
  const bool space = !a.has(1) || a[1].is<None>();
  return strip(rt.budget, a.text(0), space ? nullptr : &a.text(1), side);
}

template <Side from>
Value method_split(Runtime& rt, Arguments& a) {
  const bool space = !a.has(1) || a[1].is<None>();
  return make_list(rt.budget, split(rt.budget, a.text(0), space ? nullptr : &a.text(1),
                                    a.integer_or(2, -1), from));
}

template <Side from>
Value method_partition(Runtime& rt, Arguments& a) {
  return make_tuple(rt.budget, partition(rt.budget, a.text(0), a.text(1), from));
}

Value method_splitlines(Runtime& rt, Arguments& a) {
  return make_list(rt.budget, split_lines(rt.budget, a.text(0), a.flag_or(1, false)));
}

Value method_replace(Runtime& rt, Arguments& a) {
  TextPtr to = a.text_ptr(2);
  if (a.text(0).markup && !to->markup) to = escape_html(rt.budget, *to);
  return replace(rt.budget, a.text(0), a.text(1), *to, a.integer_or(3, -1));
}

Value method_join(Runtime& rt, Arguments& a) {
  const bool markup = a.text(0).markup;
  auto items = iterate(rt.budget, a[1]);
  for (size_t i = 0; i < items.size(); ++i) {
    const Text* item = items[i].text();
    if (item == nullptr && !markup) {
      throw bad_input("sequence item {}: expected str instance, {} found", i, type_name(items[i]));
    }
    if (markup && (item == nullptr || !item->markup))
      items[i] = escape_html(rt.budget, *to_text(rt.budget, items[i]));
  }
  const TextPtr joined = join(rt.budget, a.text(0), items);
  if (!markup) return joined;
  auto marked = std::make_shared<Text>(*joined);
  marked->markup = true;
  return TextPtr(std::move(marked));
}

// The part of a text that the optional arguments start and end (code points) name, in bytes;
// nothing when start lies beyond the end.
std::optional<ByteSpan> window(Runtime& rt, const Arguments& a, size_t first) {
  const std::string& bytes = a.text(0).bytes;
  if (!a.has(first) && !a.has(first + 1)) return ByteSpan{0, bytes.size()};
  rt.budget.scan(bytes.size());
  const auto size = static_cast<int64_t>(count_code_points(bytes));
  const auto part = [&](size_t index, int64_t fallback) {
    if (!a.has(index) || a[index].is<None>()) return fallback;
    const int64_t given = a.integer(index);
    return given < 0 ? (given < -size ? 0 : given + size) : given;
  };
  const int64_t start = part(first, 0);
  const int64_t end = std::min(part(first + 1, size), size);
  if (start > end) return std::nullopt;
  return ByteSpan{byte_of_code_point(bytes, static_cast<size_t>(start)),
                  byte_of_code_point(bytes, static_cast<size_t>(end))};
}

enum class Match : uint8_t { kPrefix, kSuffix };

template <Match match>
Value method_affix(Runtime& rt, Arguments& a) {
  const auto span = window(rt, a, 2);
  const auto matches = [&](const Value& candidate) {
    const Text* part = candidate.text();
    if (part == nullptr) {
      if (candidate.is<Undefined>()) throw_undefined(candidate);
      throw bad_input("{}: expected a string or a tuple of strings, found '{}'", a.function(),
                      type_name(candidate));
    }
    if (!span) return false;
    rt.budget.scan(part->bytes.size());
    const std::string_view inside =
        std::string_view(a.text(0).bytes).substr(span->begin, span->end - span->begin);
    return match == Match::kPrefix ? inside.starts_with(part->bytes)
                                   : inside.ends_with(part->bytes);
  };
  const auto* sequence = a[1].get<SequencePtr>();
  if (sequence == nullptr || (*sequence)->kind != SequenceKind::kTuple) return matches(a[1]);
  return std::any_of((*sequence)->items.begin(), (*sequence)->items.end(), matches);
}

enum class IfAbsent : uint8_t { kMinusOne, kError };

template <Side from, IfAbsent missing>
Value method_find(Runtime& rt, Arguments& a) {
  const std::string& bytes = a.text(0).bytes;
  const std::string& part = a.text(1).bytes;
  size_t found = std::string::npos;
  if (const auto span = window(rt, a, 2)) {
    const std::string_view inside = std::string_view(bytes).substr(0, span->end);
    if (from == Side::kLeft) {
      found = find_bytes(rt.budget, inside, part, span->begin);
    } else {
      found = find_last(rt.budget, inside.substr(span->begin), part);
      if (found != std::string::npos) found += span->begin;
    }
  }
  if (found == std::string::npos) {
    if (missing == IfAbsent::kError) throw bad_input("substring not found");
    return int64_t{-1};
  }
  return static_cast<int64_t>(count_code_points(std::string_view(bytes).substr(0, found)));
}

Value method_count(Runtime& rt, Arguments& a) {
  const auto span = window(rt, a, 2);
  if (!span) return int64_t{0};
  const std::string_view inside =
      std::string_view(a.text(0).bytes).substr(span->begin, span->end - span->begin);
  return static_cast<int64_t>(count_occurrences(rt.budget, inside, a.text(1).bytes));
}

template <Match match>
Value method_remove(Runtime& rt, Arguments& a) {
  const Text& text = a.text(0);
  const size_t size = text.bytes.size();
  const size_t cut = a.text(1).bytes.size();
  if (match == Match::kPrefix)
    return slice_text(rt.budget, text, text.bytes.starts_with(a.text(1).bytes) ? cut : 0, size);
  return slice_text(rt.budget, text, 0, text.bytes.ends_with(a.text(1).bytes) ? size - cut : size);
}

// ljust, rjust and center.
template <Side side>
Value method_pad(Runtime& rt, Arguments& a) {
  const Text& text = a.text(0);
  const TextPtr fill = a.has(2) ? a.text_ptr(2) : make_text(" ");
  if (count_code_points(fill->bytes) != 1)
    throw bad_input("The fill character must be exactly one character long");
  const int64_t width = a.integer(1);
  const auto size = static_cast<int64_t>(count_code_points(text.bytes));
  const int64_t gap = width <= size ? 0 : width - size;
  int64_t left = 0;
  if (side == Side::kRight) left = gap;
  if (side == Side::kBoth) left = gap / 2 + (gap & width & 1);  // CPython's rule for odd gaps
  return pad(rt.budget, text, left, gap - left, *fill);
}

Value method_zfill(Runtime& rt, Arguments& a) {
  const Text& text = a.text(0);
  const auto size = static_cast<int64_t>(count_code_points(text.bytes));
  const int64_t width = a.integer(1);
  const size_t sign = !text.bytes.empty() && (text.bytes[0] == '-' || text.bytes[0] == '+') ? 1 : 0;
  TextBuilder out(rt.budget);
  out.append(text, 0, sign);
  if (width > size) out.append_repeated("0", static_cast<uint64_t>(width - size));
  out.append(text, sign, text.bytes.size());
  return out.finish();
}

template <bool (*passes)(char32_t)>
Value method_every(Runtime& rt, Arguments& a) {
  return every_character(rt.budget, a.text(0), passes);
}

bool is_alphanumeric(char32_t c) { return is_alpha(c) || is_numeric(c); }

Value method_isascii(Runtime& rt, Arguments& a) {
  const Text& text = a.text(0);
  return text.bytes.empty() ||
         every_character(rt.budget, text, [](char32_t c) { return c < 0x80; });
}

Value method_isprintable(Runtime& rt, Arguments& a) {
  return a.text(0).bytes.empty() || every_character(rt.budget, a.text(0), is_printable);
}

Value method_istitle(Runtime& rt, Arguments& a) {
  const std::string& bytes = a.text(0).bytes;
  rt.budget.scan(bytes.size());
  bool found = false;
  bool inside = false;
  for (size_t at = 0; at < bytes.size(); at = next_code_point(bytes, at)) {
    const char32_t c = decode_code_point(bytes, at);
    if (!is_cased(c)) {
      inside = false;
      continue;
    }
    if (is_lower(c) != inside) return false;
    inside = true;
    found = true;
  }
  return found;
}

template <Case wanted>
Value method_iscase(Runtime& rt, Arguments& a) {
  CallArguments given;
  given.positional = {a[0]};
  return call_function(rt, *find_test(wanted == Case::kLower ? "lower" : "upper"),
                       std::move(given));
}

// str.format with {}, {0}, {name}, !s and !r. Attributes, items and format specifications are
// refused.
Value method_format(Runtime& rt, Arguments& a) {
  CallArguments& given = a.raw();
  const Text& format = *given.positional.at(0).text();
  const std::string& bytes = format.bytes;
  TextBuilder out(rt.budget);
  size_t automatic = 1;
  bool numbered = false;
  for (size_t at = 0; at < bytes.size();) {
    const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    out.append(format, at, brace);
    if (brace == bytes.size()) break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const size_t end = bytes.find('}', brace);
    if (bytes[brace] == '}') throw bad_input("Single '}}' encountered in format string");
    if (end == std::string::npos) throw bad_input("expected '}}' before end of string");
    std::string field = bytes.substr(brace + 1, end - brace - 1);
    const bool repr = field.ends_with("!r");
    if (repr || field.ends_with("!s")) field.resize(field.size() - 2);
    if (field.find_first_of(".[]:!{") != std::string::npos) {
      throw unsupported("a format field with attributes, items or a specification");
    }
    const Value* value = nullptr;
    if (const auto index = field.empty() ? std::optional<int64_t>() : parse_int(field, 10);
        index || field.empty()) {
      numbered = numbered || !field.empty();
      if (numbered && (field.empty() || automatic > 1)) {
        throw bad_input("cannot mix manual field specification and automatic field numbering");
      }
      const size_t place = field.empty() ? automatic++ : static_cast<size_t>(*index) + 1;
      if (place == 0 || place >= given.positional.size()) {
        throw bad_input("Replacement index {} out of range for positional args tuple", place - 1);
      }
      value = &given.positional[place];
    } else {
      const auto named =
          std::find_if(given.named.begin(), given.named.end(),
                       [&](const auto& entry) { return entry.first->bytes == field; });
      if (named == given.named.end()) throw bad_input("KeyError: '{}'", field.substr(0, 60));
      value = &named->second;
    }
    if (repr)
      append_repr(rt.budget, out, *value);
    else
      append_str(rt.budget, out, *value);
    at = end + 1;
  }
  return out.finish();
}

Value no_such_method(Runtime&, Arguments& a) {
  throw unsupported("the string method '{}' is not supported in chat templates", a.function());
}

constexpr Function kMethods[] = {
    {"upper", "self", method_case<Case::kUpper>},
    {"lower", "self", method_case<Case::kLower>},
    {"casefold", "*", no_such_method},
    {"capitalize", "self", apply_text<capitalize>},
    {"title", "self", apply_text<title_case>},
    {"swapcase", "self", apply_text<swap_case>},
    {"strip", "self chars?", method_strip<Side::kBoth>},
    {"lstrip", "self chars?", method_strip<Side::kLeft>},
    {"rstrip", "self chars?", method_strip<Side::kRight>},
    {"split", "self sep? maxsplit?", method_split<Side::kLeft>},
    {"rsplit", "self sep? maxsplit?", method_split<Side::kRight>},
    {"splitlines", "self keepends?", method_splitlines},
    {"partition", "self sep", method_partition<Side::kLeft>},
    {"rpartition", "self sep", method_partition<Side::kRight>},
    {"replace", "self old new count?", method_replace},
    {"join", "self iterable", method_join},
    {"startswith", "self prefix start? end?", method_affix<Match::kPrefix>},
    {"endswith", "self suffix start? end?", method_affix<Match::kSuffix>},
    {"removeprefix", "self prefix", method_remove<Match::kPrefix>},
    {"removesuffix", "self suffix", method_remove<Match::kSuffix>},
    {"find", "self sub start? end?", method_find<Side::kLeft, IfAbsent::kMinusOne>},
    {"rfind", "self sub start? end?", method_find<Side::kRight, IfAbsent::kMinusOne>},
    {"index", "self sub start? end?", method_find<Side::kLeft, IfAbsent::kError>},
    {"rindex", "self sub start? end?", method_find<Side::kRight, IfAbsent::kError>},
    {"count", "self sub start? end?", method_count},
    {"ljust", "self width fillchar?", method_pad<Side::kLeft>},
    {"rjust", "self width fillchar?", method_pad<Side::kRight>},
    {"center", "self width fillchar?", method_pad<Side::kBoth>},
    {"zfill", "self width", method_zfill},
    {"isalpha", "self", method_every<is_alpha>},
    {"isdigit", "self", method_every<is_digit>},
    {"isdecimal", "self", method_every<is_decimal>},
    {"isnumeric", "self", method_every<is_numeric>},
    {"isalnum", "self", method_every<is_alphanumeric>},
    {"isspace", "self", method_every<is_space>},
    {"isascii", "self", method_isascii},
    {"isprintable", "self", method_isprintable},
    {"istitle", "self", method_istitle},
    {"islower", "self", method_iscase<Case::kLower>},
    {"isupper", "self", method_iscase<Case::kUpper>},
    {"format", "*", method_format},
    {"format_map", "*", no_such_method},
    {"encode", "*", no_such_method},
    {"translate", "*", no_such_method},
    {"maketrans", "*", no_such_method},
    {"expandtabs", "*", no_such_method},
    {"isidentifier", "*", no_such_method},
};

}  // namespace

Rows<Function> text_methods() { return {kMethods, std::size(kMethods)}; }

}  // namespace mlxcel::text
