// The alphabet of byte-level BPE: a vocabulary file spells each of the 256 bytes as one printable
// character (GPT-2's table), so that tokens which are not valid UTF-8 can still be written as JSON.
#pragma once

#include <string>
#include <string_view>

namespace mlxcel::text {

// The spelling of raw bytes: " a" -> "Ġa".
std::string spell_bytes(std::string_view bytes);

// The bytes that a spelling stands for. A spelling with a character outside the alphabet stands for
// its own UTF-8 bytes, as the reference's ByteLevel decoder has it.
std::string unspell(std::string_view spelling);

}  // namespace mlxcel::text
