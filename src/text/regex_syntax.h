// Tokenizer files hold patterns in Oniguruma's dialect, and this program matches with PCRE2. The
// two agree on most patterns but not on all (what \s, \h, \w, \p{Han}, x{1,3}+ or [a&&b] mean), so
// each pattern is rewritten, and what could be read in two ways is refused instead of being
// mistaken.
#pragma once

#include <string>
#include <string_view>

namespace mlxcel::text {

// The PCRE2 pattern (for UTF, UCP and MULTILINE) that matches what the Oniguruma pattern (Ruby
// syntax) matches. `where` (a file and field) opens the message of an error: kUnsupported, naming
// the construct. Malformed patterns may pass; compiling them fails later.
std::string oniguruma_to_pcre2(std::string_view pattern, const std::string& where);

// A PCRE2 pattern that matches the text itself.
std::string quote_for_pcre2(std::string_view text);

}  // namespace mlxcel::text
