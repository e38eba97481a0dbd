// Small facts about UTF-8 that several layers need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mlxcel::base {

// Length in bytes of the longest prefix that does not end inside a character: a valid but
// incomplete sequence at the end is left out, malformed bytes are not.
size_t complete_utf8_prefix(std::string_view bytes);

// Malformed sequences replaced by U+FFFD (one for each maximal invalid part, as Unicode
// recommends).
std::string repair_utf8(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

// Appends the encoding of a code point (up to U+10FFFF; surrogates become U+FFFD).
void append_utf8(std::string& out, char32_t code_point);

}  // namespace mlxcel::base
