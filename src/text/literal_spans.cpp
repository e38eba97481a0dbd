#include "text/literal_spans.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/utf8.h"

namespace mlxcel::text {
namespace {

bool is_continuation(char c) { return (static_cast<uint8_t>(c) & 0xC0U) == 0x80U; }

constexpr size_t kMostContinuations = 3;

// Where a text can be cut, at or before `at`, without cutting a character: before its first byte.
size_t character_begin(std::string_view text, size_t at) {
  if (at == text.size()) return at;
  for (size_t back = 0; back <= std::min(at, kMostContinuations); ++back) {
    if (!is_continuation(text[at - back])) return at - back;
  }
  return at;  // too far behind the last lead byte to belong to a character
}

// The same, at or after `at`.
size_t character_end(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && end - at < kMostContinuations && is_continuation(text[end])) ++end;
  return end;
}

}  // namespace

LiteralSpans::LiteralSpans(std::span<const ByteSpan> spans, size_t text_size) {
  std::vector<ByteSpan> sorted(spans.begin(), spans.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const ByteSpan& a, const ByteSpan& b) { return a.begin < b.begin; });
  for (const ByteSpan& span : sorted) {
    if (span.begin > span.end || span.end > text_size) {
      throw base::internal_error("literal bytes {}..{} of a text of {} bytes", span.begin, span.end,
                                 text_size);
    }
    if (!spans_.empty() && span.begin < spans_.back().end) {
      spans_.back().end = std::max(spans_.back().end, span.end);
    } else {
      append(span);
    }
  }
}

void LiteralSpans::append(ByteSpan span) {
  if (span.begin == span.end) return;
  if (!spans_.empty() && spans_.back().end == span.begin) {
    spans_.back().end = span.end;
  } else {
    spans_.push_back(span);
  }
}

bool LiteralSpans::overlap(size_t begin, size_t end) const {
  const auto first =
      std::upper_bound(spans_.begin(), spans_.end(), begin,
                       [](size_t at, const ByteSpan& span) { return at < span.end; });
  return first != spans_.end() && first->begin < end;
}

LiteralSpans LiteralSpans::within(size_t begin, size_t end) const {
  LiteralSpans inside;
  auto span =
      std::upper_bound(spans_.begin(), spans_.end(), begin,
                       [](size_t at, const ByteSpan& candidate) { return at < candidate.end; });
  for (; span != spans_.end() && span->begin < end; ++span) {
    inside.append({std::max(span->begin, begin) - begin, std::min(span->end, end) - begin});
  }
  return inside;
}

MarkedText repair_marked(std::string_view text, std::span<const ByteSpan> literal) {
  const LiteralSpans given(literal, text.size());
  if (base::is_valid_utf8(text) && given.empty()) return {std::string(text), {}};
  // Cutting before a byte that begins a character never cuts a malformed part in two, so that the
  // pieces can be repaired one by one.
  MarkedText repaired;
  size_t at = 0;
  const auto copy_to = [&](size_t end) {
    repaired.text += base::repair_utf8(text.substr(at, end - at));
    at = end;
  };
  for (const ByteSpan& span : given.spans()) {
    copy_to(std::max(at, character_begin(text, span.begin)));
    const size_t begin = repaired.text.size();
    copy_to(std::max(at, character_end(text, span.end)));
    repaired.literal.append({begin, repaired.text.size()});
  }
  copy_to(text.size());
  return repaired;
}

}  // namespace mlxcel::text
