// Any bytes as a tokenizer.json, and what it makes of a short text: only base::Error may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

// The begin of the input up to the first zero byte is the document, the rest more text to encode.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxcel;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(input.find('\0'), input.size());
  try {
    const auto tokenizer = text::Tokenizer::from_json(input.substr(0, cut), "tokenizer.json");
    for (const std::string_view sample :
         {std::string_view(
              "Don't panic:  42 <|im_end|>\r\ncaf\xc3\xa9 e\xcc\x81\xf0\x9f\x98\x80 \xff"),
          input.substr(cut)}) {
      const text::ByteSpan middle{sample.size() / 3, sample.size() / 2};
      text::StreamDecoder decoder(tokenizer);
      for (const int32_t id : tokenizer.encode(sample, {&middle, 1})) decoder.push(id);
      decoder.flush();
      tokenizer.decode(tokenizer.encode(sample), text::SpecialTokens::kKeep);
    }
  } catch (const base::Error&) {  // NOLINT(bugprone-empty-catch): refusing is right
  }
  return 0;
}
