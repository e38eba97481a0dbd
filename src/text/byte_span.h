// A range of bytes in a text. One type for all of text/, so that the template renderer can tell the
// tokenizer which bytes of a prompt it must never read as special tokens.
#pragma once

#include <cstddef>

namespace mlxcel::text {

struct ByteSpan {
  size_t begin = 0;
  size_t end = 0;  // one past the last byte

  friend bool operator==(const ByteSpan&, const ByteSpan&) = default;
};

}  // namespace mlxcel::text
