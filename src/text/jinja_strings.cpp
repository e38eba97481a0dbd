#include "text/jinja_strings.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja_format.h"

namespace mlxcel::text {
namespace {

using base::bad_input;

bool is_ascii(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

TextPtr finish(TextBuilder& out, const Text& like) {
  Text result = out.take();
  result.markup = like.markup;
  return std::make_shared<const Text>(std::move(result));
}

void append_mapped(TextBuilder& out, const Text& text, size_t at, Case to) {
  const char32_t c = decode_code_point(text.bytes, at);
  if (c == 0x3A3 && to == Case::kLower) {
    return out.append_code_point(is_final_sigma(text.bytes, at) ? 0x3C2 : 0x3C3,
                                 text.origin_at(at));
  }
  for (const char32_t mapped : map_case(c, to)) {
    if (mapped != 0 || c == 0) out.append_code_point(mapped, text.origin_at(at));
    if (c == 0) break;
  }
}

// Each character mapped to the case that `choose` gives for it.
template <typename Choose>
TextPtr map_each(Budget& budget, const Text& text, const Choose& choose) {
  TextBuilder out(budget);
  for (size_t at = 0; at < text.bytes.size(); at = next_code_point(text.bytes, at)) {
    budget.step();
    append_mapped(out, text, at, choose(decode_code_point(text.bytes, at), at));
  }
  return finish(out, text);
}

// The text between two byte positions as a value.
Value piece(Budget& budget, const Text& text, size_t begin, size_t end) {
  return slice_text(budget, text, begin, end);
}

std::vector<Value> split_at_space(Budget& budget, const Text& text, int64_t limit) {
  const std::string& bytes = text.bytes;
  std::vector<Value> parts;
  const auto skip = [&](size_t at, bool space) {
    while (at < bytes.size() && is_space(decode_code_point(bytes, at)) == space)
      at = next_code_point(bytes, at);
    return at;
  };
  for (size_t at = skip(0, true); at < bytes.size();) {
    size_t end = skip(at, false);
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      end = bytes.size();  // the rest, with the space at its end
      parts.push_back(piece(budget, text, at, end));
      return parts;
    }
    parts.push_back(piece(budget, text, at, end));
    at = skip(end, true);
  }
  return parts;
}

std::vector<Value> split_at_space_from_right(Budget& budget, const Text& text, int64_t limit) {
  const std::string& bytes = text.bytes;
  std::vector<Value> parts;
  const auto skip = [&](size_t at, bool space) {
    while (at > 0 && is_space(decode_code_point(bytes, previous_code_point(bytes, at))) == space) {
      at = previous_code_point(bytes, at);
    }
    return at;
  };
  for (size_t end = skip(bytes.size(), true); end > 0;) {
    size_t begin = skip(end, false);
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      begin = 0;  // the rest, with the space at its start
      parts.push_back(piece(budget, text, begin, end));
      break;
    }
    parts.push_back(piece(budget, text, begin, end));
    end = skip(begin, true);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

TextPtr convert_case(Budget& budget, const Text& text, Case to) {
  budget.scan(text.bytes.size());
  if (!is_ascii(text.bytes)) {
    return map_each(budget, text, [to](char32_t, size_t) { return to; });
  }
  budget.allocate(text.bytes.size());
  Text result = text;
  for (char& c : result.bytes) {
    if (to == Case::kLower ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z')
      c = static_cast<char>(c ^ 0x20);
  }
  return std::make_shared<const Text>(std::move(result));
}

TextPtr swap_case(Budget& budget, const Text& text) {
  return map_each(budget, text,
                  [](char32_t c, size_t) { return is_upper(c) ? Case::kLower : Case::kUpper; });
}

TextPtr capitalize(Budget& budget, const Text& text) {
  return map_each(budget, text,
                  [](char32_t, size_t at) { return at == 0 ? Case::kTitle : Case::kLower; });
}

TextPtr title_case(Budget& budget, const Text& text) {
  bool inside = false;
  return map_each(budget, text, [&inside](char32_t c, size_t) {
    const Case to = inside ? Case::kLower : Case::kTitle;
    inside = is_cased(c);
    return to;
  });
}

TextPtr title_case_filter(Budget& budget, const Text& text) {
  bool start = true;
  return map_each(budget, text, [&start](char32_t c, size_t) {
    const bool breaks = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    const Case to = start || breaks ? Case::kUpper : Case::kLower;
    start = breaks;
    return to;
  });
}

TextPtr strip(Budget& budget, const Text& text, const Text* characters, Side side) {
  std::vector<char32_t> set;
  if (characters != nullptr) {
    budget.allocate(characters->bytes.size(), sizeof(char32_t));
    for (size_t at = 0; at < characters->bytes.size();
         at = next_code_point(characters->bytes, at)) {
      set.push_back(decode_code_point(characters->bytes, at));
    }
    std::sort(set.begin(), set.end());
  }
  const auto drops = [&](char32_t c) {
    return characters == nullptr ? is_space(c) : std::binary_search(set.begin(), set.end(), c);
  };
  size_t begin = 0;
  size_t end = text.bytes.size();
  budget.scan(end);
  if (side != Side::kRight) {
    while (begin < end && drops(decode_code_point(text.bytes, begin)))
      begin = next_code_point(text.bytes, begin);
  }
  if (side != Side::kLeft) {
    while (begin < end &&
           drops(decode_code_point(text.bytes, previous_code_point(text.bytes, end)))) {
      end = previous_code_point(text.bytes, end);
    }
  }
  return slice_text(budget, text, begin, end);
}

std::vector<Value> split(Budget& budget, const Text& text, const Text* separator, int64_t limit,
                         Side from) {
  budget.scan(text.bytes.size());
  if (separator == nullptr) {
    return from == Side::kRight ? split_at_space_from_right(budget, text, limit)
                                : split_at_space(budget, text, limit);
  }
  const std::string& mark = separator->bytes;
  if (mark.empty()) throw bad_input("empty separator");
  std::vector<Value> parts;
  const auto may_split = [&] { return limit < 0 || static_cast<int64_t>(parts.size()) < limit; };
  if (from == Side::kRight) {
    // Reversed once, so that many parts cost no more than one search.
    budget.allocate(text.bytes.size() + mark.size());
    const std::string reversed(text.bytes.rbegin(), text.bytes.rend());
    const std::string reversed_mark(mark.rbegin(), mark.rend());
    size_t end = text.bytes.size();
    while (may_split()) {
      const size_t found = find_bytes(budget, reversed, reversed_mark, text.bytes.size() - end);
      if (found == std::string::npos) break;
      const size_t after = text.bytes.size() - found;
      parts.push_back(piece(budget, text, after, end));
      end = after - mark.size();
    }
    parts.push_back(piece(budget, text, 0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t at = 0;
  while (may_split()) {
    const size_t found = find_bytes(budget, text.bytes, mark, at);
    if (found == std::string::npos) break;
    parts.push_back(piece(budget, text, at, found));
    at = found + mark.size();
  }
  parts.push_back(piece(budget, text, at, text.bytes.size()));
  return parts;
}

std::vector<Value> split_lines(Budget& budget, const Text& text, bool keep_ends) {
  std::vector<Value> lines;
  const std::string& bytes = text.bytes;
  budget.scan(bytes.size());
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    size_t next = next_code_point(bytes, at);
    if (is_line_break(decode_code_point(bytes, at))) {
      if (bytes[at] == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
      lines.push_back(piece(budget, text, begin, keep_ends ? next : at));
      begin = next;
    }
    at = next;
  }
  if (begin < bytes.size()) lines.push_back(piece(budget, text, begin, bytes.size()));
  return lines;
}

std::vector<Value> partition(Budget& budget, const Text& text, const Text& separator, Side from) {
  if (separator.bytes.empty()) throw bad_input("empty separator");
  const size_t found = from == Side::kRight ? find_last(budget, text.bytes, separator.bytes)
                                            : find_bytes(budget, text.bytes, separator.bytes);
  const size_t size = text.bytes.size();
  if (found == std::string::npos) {
    const Value empty = make_text("");
    const Value whole = piece(budget, text, 0, size);
    if (from == Side::kRight) return {empty, empty, whole};
    return {whole, empty, empty};
  }
  const size_t after = found + separator.bytes.size();
  return {piece(budget, text, 0, found), piece(budget, text, found, after),
          piece(budget, text, after, size)};
}

TextPtr replace(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t limit) {
  TextBuilder out(budget);
  const std::string& bytes = text.bytes;
  size_t at = 0;  // everything before it is in the result
  int64_t done = 0;
  if (from.bytes.empty()) {
    for (size_t place = 0; (limit < 0 || done < limit) && place <= bytes.size(); ++done) {
      out.append(text, at, place);
      out.append(to);
      at = place;
      if (place == bytes.size()) break;
      place = next_code_point(bytes, place);
    }
  } else {
    for (; limit < 0 || done < limit; ++done) {
      const size_t found = find_bytes(budget, bytes, from.bytes, at);
      if (found == std::string::npos) break;
      out.append(text, at, found);
      out.append(to);
      at = found + from.bytes.size();
    }
  }
  out.append(text, at, bytes.size());
  return finish(out, text);
}

TextPtr join(Budget& budget, const Text& separator, const std::vector<Value>& items) {
  TextBuilder out(budget);
  for (size_t i = 0; i < items.size(); ++i) {
    budget.step();
    if (i > 0) out.append(separator);
    append_str(budget, out, items[i]);
  }
  return out.finish();
}

TextPtr pad(Budget& budget, const Text& text, int64_t left, int64_t right, const Text& fill) {
  TextBuilder out(budget);
  const Origin origin = fill.has_literal() ? Origin::kCaller : Origin::kTemplate;
  out.append_repeated(fill.bytes, static_cast<uint64_t>(std::max<int64_t>(left, 0)), origin);
  out.append(text);
  out.append_repeated(fill.bytes, static_cast<uint64_t>(std::max<int64_t>(right, 0)), origin);
  return finish(out, text);
}

TextPtr indent(Budget& budget, const Text& text, const Text& indention, bool first, bool blank) {
  TextBuilder with_newline(budget);
  with_newline.append(text);
  with_newline.append("\n");
  const auto lines = split_lines(budget, with_newline.take(), false);
  // Every kind of line break becomes this one; it is the caller's if anything is.
  const Origin newline = text.has_literal() ? Origin::kCaller : Origin::kTemplate;
  TextBuilder out(budget);
  if (first) out.append(indention);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i].text();
    if (i > 0) {
      out.append("\n", newline);
      if (blank || !line.bytes.empty()) out.append(indention);
    }
    out.append(line);
  }
  return finish(out, text);
}

size_t count_occurrences(Budget& budget, std::string_view text, std::string_view part) {
  if (part.empty()) return count_code_points(text) + 1;
  size_t count = 0;
  for (size_t at = find_bytes(budget, text, part); at != std::string_view::npos;
       at = find_bytes(budget, text, part, at + part.size())) {
    ++count;
  }
  return count;
}

size_t find_last(Budget& budget, std::string_view text, std::string_view part) {
  // Searching the reversed text forwards keeps the time linear.
  budget.allocate(text.size() + part.size());
  const std::string reversed(text.rbegin(), text.rend());
  const std::string reversed_part(part.rbegin(), part.rend());
  const size_t found = find_bytes(budget, reversed, reversed_part);
  return found == std::string::npos ? found : text.size() - part.size() - found;
}

bool every_character(Budget& budget, const Text& text, bool (*passes)(char32_t)) {
  budget.scan(text.bytes.size());
  for (size_t at = 0; at < text.bytes.size(); at = next_code_point(text.bytes, at)) {
    if (!passes(decode_code_point(text.bytes, at))) return false;
  }
  return !text.bytes.empty();
}

}  // namespace mlxcel::text
