#include "text/byte_level.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace mlxcel::text {
namespace {

constexpr int kAlphabetEnd = 256 + 68;  // 68 bytes are not printable and move to U+0100 onwards

struct Alphabet {
  std::array<uint16_t, 256> character{};     // byte -> code point
  std::array<int16_t, kAlphabetEnd> byte{};  // code point -> byte, -1 outside the alphabet
};

constexpr bool keeps_its_place(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte) byte = -1;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = keeps_its_place(byte) ? byte : next++;
    alphabet.character[static_cast<size_t>(byte)] = static_cast<uint16_t>(character);
    alphabet.byte[static_cast<size_t>(character)] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string spell_bytes(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    base::append_utf8(spelling, kAlphabet.character[static_cast<uint8_t>(c)]);
  }
  return spelling;
}

std::string unspell(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t i = 0; i < spelling.size(); ++i) {
    int character = static_cast<uint8_t>(spelling[i]);
    if (character >= 0x80) {
      // The whole alphabet lies below U+0144: one or two bytes of UTF-8.
      if (character >= 0xE0 || i + 1 >= spelling.size()) return std::string(spelling);
      character = ((character & 0x1F) << 6) | (static_cast<uint8_t>(spelling[++i]) & 0x3F);
    }
    if (character >= kAlphabetEnd) return std::string(spelling);
    const int byte = kAlphabet.byte[static_cast<size_t>(character)];
    if (byte < 0) return std::string(spelling);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace mlxcel::text
