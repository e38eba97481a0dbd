#include "text/stream_decoder.h"

#include <utility>

#include "base/utf8.h"

namespace mlxcel::text {

std::string StreamDecoder::push(int32_t id) {
  const std::string_view bytes = tokenizer_.token_bytes(id);
  if (special_ == SpecialTokens::kSkip && tokenizer_.is_special(id)) return {};
  held_ += bytes;
  const size_t whole = base::complete_utf8_prefix(held_);
  std::string text = base::repair_utf8(std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
  return text;
}

std::string StreamDecoder::flush() { return base::repair_utf8(std::exchange(held_, {})); }

}  // namespace mlxcel::text
