#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace mlxcel::base {
namespace {

constexpr size_t kShownBytes = 200;

bool is_plain_byte(char c) { return c >= 0x20 && c < 0x7F; }

}  // namespace

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_plain_byte);
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShownBytes)) {
    if (is_plain_byte(c)) {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text.size() > kShownBytes ? shown + "..." : shown;
}

}  // namespace mlxcel::base
