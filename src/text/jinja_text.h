// The string value of templates: UTF-8 bytes that remember which of them a caller wrote. The memory
// is a list of runs, not a byte mask, since a prompt is mostly a few long pieces. Every operation
// that makes a text goes through TextBuilder, which is what keeps the marks exact.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_span.h"
#include "text/jinja_budget.h"

namespace mlxcel::text {

enum class Origin : uint8_t { kTemplate, kCaller };

struct Text {
  std::string bytes;  // valid UTF-8
  std::vector<ByteSpan>
      literal;          // what the caller wrote: sorted, disjoint, not touching, not empty
  bool markup = false;  // the result of `escape` or `safe`: added text gets escaped

  Origin origin_at(size_t position) const;
  bool has_literal() const { return !literal.empty(); }
};
using TextPtr = std::shared_ptr<const Text>;

TextPtr make_text(std::string bytes, Origin origin = Origin::kTemplate);

// Concatenates; draws every byte from the budget before it is stored.
class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(&budget) {}

  void append(std::string_view bytes, Origin origin = Origin::kTemplate);
  void append(const Text& text) { append(text, 0, text.bytes.size()); }
  void append(const Text& text, size_t begin, size_t end);
  void append_repeated(std::string_view bytes, uint64_t times, Origin origin = Origin::kTemplate);
  void append_code_point(char32_t code_point, Origin origin);

  size_t size() const { return text_.bytes.size(); }
  Text take() { return std::move(text_); }
  TextPtr finish() { return std::make_shared<const Text>(std::move(text_)); }

 private:
  void mark(size_t begin, size_t end);
  Budget* budget_;
  Text text_;
};

// Bytes [begin, end) with their marks; keeps `markup`.
TextPtr slice_text(Budget& budget, const Text& text, size_t begin, size_t end);

// Code points. The bytes are valid UTF-8, positions lie on character starts.
size_t count_code_points(std::string_view bytes);
char32_t decode_code_point(std::string_view bytes, size_t position);
size_t next_code_point(std::string_view bytes, size_t position);      // position after it
size_t previous_code_point(std::string_view bytes, size_t position);  // start of the one before
// Byte position of the code point with this index; the size when there are fewer.
size_t byte_of_code_point(std::string_view bytes, size_t index);

// First occurrence at or after `from`, npos when there is none. Linear time for every needle.
size_t find_bytes(Budget& budget, std::string_view haystack, std::string_view needle,
                  size_t from = 0);

}  // namespace mlxcel::text
