// Two classes of characters as the reference's regex library defines them, for the rules of added
// tokens (single_word, lstrip, rstrip).
#pragma once

#include <cstddef>
#include <string_view>

namespace mlxcel::text {

// \w: Alphabetic, marks, decimal digits, connector punctuation, the two joiners (UTS #18, annex C).
bool is_word_character(char32_t c);
// \s: the White_Space property.
bool is_space_character(char32_t c);

// The character that begins at, or ends before, byte `at` of valid UTF-8, and its length in bytes.
struct Character {
  char32_t value;
  size_t length;
};
Character character_at(std::string_view text, size_t at);
Character character_before(std::string_view text, size_t at);

}  // namespace mlxcel::text
