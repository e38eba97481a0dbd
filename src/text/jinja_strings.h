// The string operations that filters and methods share, with Python's meaning. Pieces of the result
// keep their marks; nothing here looks at a call's arguments.
#pragma once

#include <optional>
#include <vector>

#include "text/jinja_unicode.h"
#include "text/jinja_value.h"

namespace mlxcel::text {

TextPtr convert_case(Budget& budget, const Text& text, Case to);
TextPtr swap_case(Budget& budget, const Text& text);
TextPtr capitalize(Budget& budget, const Text& text);
TextPtr title_case(Budget& budget, const Text& text);  // str.title: a word is a run of letters
TextPtr title_case_filter(Budget& budget,
                          const Text& text);  // the filter: words end at spaces, - ( { [ <

enum class Side : uint8_t { kBoth, kLeft, kRight };

// Without `characters`, white space.
TextPtr strip(Budget& budget, const Text& text, const Text* characters, Side side);
// Split at most `limit` times (all, when negative), from the left or the right. Without a
// separator, at runs of white space.
std::vector<Value> split(Budget& budget, const Text& text, const Text* separator, int64_t limit,
                         Side from);
std::vector<Value> split_lines(Budget& budget, const Text& text, bool keep_ends);
// Before, separator, after; the text and two empty strings when it does not occur.
std::vector<Value> partition(Budget& budget, const Text& text, const Text& separator, Side from);
TextPtr replace(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t limit);
TextPtr join(Budget& budget, const Text& separator,
             const std::vector<Value>& items);  // str() of each
// Filled with `fill` characters on the left and on the right.
TextPtr pad(Budget& budget, const Text& text, int64_t left, int64_t right, const Text& fill);
TextPtr indent(Budget& budget, const Text& text, const Text& indention, bool first, bool blank);

// Occurrences that do not overlap; the last one found from the right.
size_t count_occurrences(Budget& budget, std::string_view text, std::string_view part);
size_t find_last(Budget& budget, std::string_view text, std::string_view part);

// True for a non-empty text of which every character passes.
bool every_character(Budget& budget, const Text& text, bool (*passes)(char32_t));

}  // namespace mlxcel::text
