#include "text/characters.h"

#include <utf8proc.h>

#include <cstdint>

namespace mlxcel::text {

bool is_word_character(char32_t c) {
  if (c == 0x200C || c == 0x200D) return true;
  // Symbols that are Alphabetic: letters in circles and squares.
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
      (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189)) {
    return true;
  }
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

bool is_space_character(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i]));
  };
  const auto tail = [&](size_t i) { return byte(i) & 0x3F; };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {static_cast<char32_t>(lead), 1};
  if (lead < 0xE0) return {static_cast<char32_t>(((lead & 0x1F) << 6) | tail(1)), 2};
  if (lead < 0xF0)
    return {static_cast<char32_t>(((lead & 0x0F) << 12) | (tail(1) << 6) | tail(2)), 3};
  return {static_cast<char32_t>(((lead & 0x07) << 18) | (tail(1) << 12) | (tail(2) << 6) | tail(3)),
          4};
}

Character character_before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0U) == 0x80U) --begin;
  return character_at(text, begin);
}

}  // namespace mlxcel::text
