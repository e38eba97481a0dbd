#include "text/jinja_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace mlxcel::text {
namespace {

bool continues(char byte) { return (static_cast<uint8_t>(byte) & 0xC0U) == 0x80U; }

// The first run that ends after `position`.
std::vector<ByteSpan>::const_iterator run_after(const Text& text, size_t position) {
  return std::upper_bound(text.literal.begin(), text.literal.end(), position,
                          [](size_t at, const ByteSpan& run) { return at < run.end; });
}

}  // namespace

Origin Text::origin_at(size_t position) const {
  const auto run = run_after(*this, position);
  return run != literal.end() && run->begin <= position ? Origin::kCaller : Origin::kTemplate;
}

TextPtr make_text(std::string bytes, Origin origin) {
  auto text = std::make_shared<Text>();
  text->bytes = std::move(bytes);
  if (origin == Origin::kCaller && !text->bytes.empty()) text->literal = {{0, text->bytes.size()}};
  return text;
}

void TextBuilder::mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!text_.literal.empty() && text_.literal.back().end == begin) {
    text_.literal.back().end = end;
    return;
  }
  budget_->allocate(sizeof(ByteSpan));
  text_.literal.push_back({begin, end});
}

void TextBuilder::append(std::string_view bytes, Origin origin) {
  budget_->allocate(bytes.size());
  const size_t begin = size();
  text_.bytes.append(bytes);
  if (origin == Origin::kCaller) mark(begin, size());
}

void TextBuilder::append(const Text& text, size_t begin, size_t end) {
  budget_->allocate(end - begin);
  const size_t base = size();
  text_.bytes.append(text.bytes, begin, end - begin);
  for (auto run = run_after(text, begin); run != text.literal.end() && run->begin < end; ++run) {
    mark(base + std::max(run->begin, begin) - begin, base + std::min(run->end, end) - begin);
  }
}

void TextBuilder::append_repeated(std::string_view bytes, uint64_t times, Origin origin) {
  if (bytes.empty() || times == 0) return;
  budget_->allocate(times, bytes.size());
  const size_t begin = size();
  text_.bytes.reserve(begin + bytes.size() * times);
  for (uint64_t i = 0; i < times; ++i) text_.bytes.append(bytes);
  if (origin == Origin::kCaller) mark(begin, size());
}

void TextBuilder::append_code_point(char32_t code_point, Origin origin) {
  std::string bytes;
  base::append_utf8(bytes, code_point);
  append(bytes, origin);
}

TextPtr slice_text(Budget& budget, const Text& text, size_t begin, size_t end) {
  TextBuilder builder(budget);
  if (begin < end) builder.append(text, begin, end);
  Text result = builder.take();
  result.markup = text.markup;
  return std::make_shared<const Text>(std::move(result));
}

size_t count_code_points(std::string_view bytes) {
  return static_cast<size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](char byte) { return !continues(byte); }));
}

char32_t decode_code_point(std::string_view bytes, size_t position) {
  const auto at = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(bytes[i])); };
  const char32_t lead = at(position);
  if (lead < 0x80) return lead;
  const size_t length = std::min(next_code_point(bytes, position), bytes.size()) - position;
  char32_t code_point = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) code_point = (code_point << 6U) | (at(position + i) & 0x3FU);
  return code_point;
}

size_t next_code_point(std::string_view bytes, size_t position) {
  ++position;
  while (position < bytes.size() && continues(bytes[position])) ++position;
  return position;
}

size_t previous_code_point(std::string_view bytes, size_t position) {
  --position;
  while (position > 0 && continues(bytes[position])) --position;
  return position;
}

size_t byte_of_code_point(std::string_view bytes, size_t index) {
  size_t position = 0;
  for (; position < bytes.size(); ++position) {
    if (continues(bytes[position])) continue;
    if (index == 0) return position;
    --index;
  }
  return position;
}

size_t find_bytes(Budget& budget, std::string_view haystack, std::string_view needle, size_t from) {
  constexpr size_t kShortNeedle = 8;
  if (from > haystack.size()) return std::string_view::npos;
  if (needle.size() <= kShortNeedle) {
    const size_t found = haystack.find(needle, from);
    budget.scan((found == std::string_view::npos ? haystack.size() : found) - from);
    return found;
  }
  // Knuth-Morris-Pratt: `border[i]` is the length of the longest proper prefix that ends at i.
  budget.allocate(needle.size(), sizeof(size_t));
  std::vector<size_t> border(needle.size(), 0);
  for (size_t i = 1, k = 0; i < needle.size(); ++i) {
    while (k > 0 && needle[i] != needle[k]) k = border[k - 1];
    if (needle[i] == needle[k]) ++k;
    border[i] = k;
  }
  for (size_t i = from, k = 0; i < haystack.size(); ++i) {
    if ((i & 0xFFFU) == 0) budget.step(128);
    while (k > 0 && haystack[i] != needle[k]) k = border[k - 1];
    if (haystack[i] == needle[k]) ++k;
    if (k == needle.size()) return i + 1 - k;
  }
  return std::string_view::npos;
}

}  // namespace mlxcel::text
