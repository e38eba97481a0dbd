// From a conversation to the tokens of one prompt. Host work only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "image/patchify.h"
#include "models/family_config.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace mlxcel::engine {

struct ContentPart {
  enum class Kind { kText, kImage };
  Kind kind = Kind::kText;
  std::string text;  // of a text part
};

// Pictures belong to the conversation in the order in which their parts appear.
struct Message {
  std::string role;  // "system", "user", "assistant"
  std::vector<ContentPart> content;
};
using Conversation = std::vector<Message>;

// In the form that chat templates expect: text alone as a string, else a list of parts.
base::Json to_json(const Conversation& conversation);

struct PreparedPrompt {
  std::vector<int32_t> token_ids;     // placeholders expanded
  std::vector<int32_t> positions;     // one for each token
  std::vector<uint8_t> visual;        // 1 where a token stands for a visual row
  std::vector<int64_t> image_tokens;  // of each picture
  int64_t next_position = 0;          // position of the first generated token
};

// Expands each placeholder to the number of tokens of its picture. Throws kBadInput when
// placeholders and pictures do not agree in number.
PreparedPrompt expand_placeholders(std::span<const int32_t> token_ids,
                                   const models::ModelInfo& info,
                                   std::span<const int64_t> image_tokens);

// Renders with the chat template; what the conversation holds is text, never a special token.
std::vector<int32_t> encode_conversation(const Conversation& conversation,
                                         const text::ChatTemplate& chat_template,
                                         const text::Tokenizer& tokenizer);

}  // namespace mlxcel::engine
