// The bytes of a text that its user wrote, as sorted, disjoint, non-empty ranges: what the
// tokenizer asks before it takes a piece of text for a special token.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_span.h"

namespace mlxcel::text {

class LiteralSpans {
 public:
  LiteralSpans() = default;
  // Any order and overlap. Throws kInternal for a range that is reversed or ends after `text_size`.
  LiteralSpans(std::span<const ByteSpan> spans, size_t text_size);

  bool empty() const { return spans_.empty(); }
  bool overlap(size_t begin, size_t end) const;
  // The ranges inside [begin, end), counted from begin.
  LiteralSpans within(size_t begin, size_t end) const;
  // Adds a range at the end; it may touch the last one but not begin before its end.
  void append(ByteSpan span);
  const std::vector<ByteSpan>& spans() const { return spans_; }

 private:
  std::vector<ByteSpan> spans_;
};

struct MarkedText {
  std::string text;
  LiteralSpans literal;
};

// The text with malformed UTF-8 replaced as base::repair_utf8 does, and the ranges moved along. A
// range that cuts through a character is widened to the whole of it.
MarkedText repair_marked(std::string_view text, std::span<const ByteSpan> literal);

}  // namespace mlxcel::text
