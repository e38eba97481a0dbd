// What Python's str knows about characters: white space, letters, digits, printable characters and
// full case mappings (one letter may become three), for the string methods that templates call.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mlxcel::text {

bool is_space(char32_t c);       // str.isspace, and \s of a pattern
bool is_line_break(char32_t c);  // what str.splitlines splits at
bool is_printable(char32_t c);   // shown as itself by repr
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
int decimal_value(char32_t c);  // 0..9 of a decimal digit of any script, else -1
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_word(char32_t c);  // \w
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_cased(char32_t c);

enum class Case : uint8_t { kUpper, kLower, kTitle };

// The mapping of one character: up to three code points, the rest 0.
std::array<char32_t, 3> map_case(char32_t c, Case to);

// Whether the capital sigma at this byte is the last letter of its word (then it becomes a final
// small sigma).
bool is_final_sigma(std::string_view bytes, size_t position);

}  // namespace mlxcel::text
