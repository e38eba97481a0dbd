#include "base/utf8.h"

#include <algorithm>

namespace mlxcel::base {
namespace {

struct Sequence {
  size_t length;  // bytes examined that belong to this (valid or invalid) part
  bool valid;
  bool incomplete;  // a valid start that the end of the text cuts off
};

// Table 3-7 of the Unicode standard: well-formed byte sequences.
Sequence next_sequence(std::string_view s, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<uint8_t>(s[k]); };
  const uint8_t lead = byte(i);
  if (lead < 0x80) return {1, true, false};
  size_t need = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    need = 1;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    need = 2;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    need = 3;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false, false};
  }
  for (size_t k = 1; k <= need; ++k) {
    if (i + k >= s.size()) return {k, false, true};
    if (byte(i + k) < low || byte(i + k) > high) return {k, false, false};
    low = 0x80;
    high = 0xBF;
  }
  return {need + 1, true, false};
}

}  // namespace

size_t complete_utf8_prefix(std::string_view bytes) {
  // Only the last three bytes can begin an incomplete sequence.
  for (size_t back = std::min<size_t>(3, bytes.size()); back >= 1; --back) {
    const size_t start = bytes.size() - back;
    if ((static_cast<uint8_t>(bytes[start]) & 0xC0U) == 0x80U) continue;
    if (next_sequence(bytes, start).incomplete) return start;
  }
  return bytes.size();
}

std::string repair_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const Sequence sequence = next_sequence(bytes, i);
    if (sequence.valid) {
      out.append(bytes.substr(i, sequence.length));
    } else {
      out += "\xEF\xBF\xBD";
    }
    i += sequence.length;
  }
  return out;
}

bool is_valid_utf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const Sequence sequence = next_sequence(bytes, i);
    if (!sequence.valid) return false;
    i += sequence.length;
  }
  return true;
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&out](uint32_t value) { out += static_cast<char>(value); };
  auto c = static_cast<uint32_t>(code_point);
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

}  // namespace mlxcel::base
