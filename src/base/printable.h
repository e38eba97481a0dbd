// Text of untrusted files, made fit for a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace mlxcel::base {

// Whether text is printable ASCII, and so may stand in a message or a path as it is.
bool is_plain(std::string_view text);

// The text as printable ASCII: other bytes become \xNN, and what follows the first 200 bytes "...".
std::string printable(std::string_view text);

}  // namespace mlxcel::base
