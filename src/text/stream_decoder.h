// Token ids to text while they are generated. Tokens end inside characters, so that text is passed
// on only up to the last whole one: the pieces together equal the text decoded at once.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace mlxcel::text {

class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, SpecialTokens special = SpecialTokens::kSkip)
      : tokenizer_(std::move(tokenizer)), special_(special) {}

  // The text that this token completes: whole characters, perhaps none. A special token that is
  // skipped adds nothing. Throws kBadInput for an id that is out of range, and stays as it was.
  std::string push(int32_t id);

  // What is left at the end: nothing, or U+FFFD for a character that was never finished.
  std::string flush();

 private:
  Tokenizer tokenizer_;
  SpecialTokens special_;
  std::string held_;  // bytes of an unfinished character
};

}  // namespace mlxcel::text
