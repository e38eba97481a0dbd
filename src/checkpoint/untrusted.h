// How the text of an untrusted file reaches the readers of this folder: JSON without surprises, and
// names that are fit for a one-line message. A safetensors header may have a hundred million bytes,
// so the parser takes linear time for any text (inserting into an ordered_json does not) and
// refuses an object that names a member twice, of which a plain parser would silently drop one.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace mlxcel::checkpoint {

// Parses text; `name` opens the message of an error. Throws kBadInput for text that is not JSON,
// nests deeper than 200 levels or repeats a member of an object.
base::Json parse_untrusted_json(std::string_view text, const std::string& name);

// Whether text is printable ASCII, and so may stand in a message or a path as it is.
bool is_plain(std::string_view text);

// The text as printable ASCII: other bytes become \xNN, and what follows the first 200 bytes "...".
std::string printable(std::string_view text);

}  // namespace mlxcel::checkpoint
