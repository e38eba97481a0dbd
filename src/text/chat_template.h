// The prompt of a conversation, as transformers' apply_chat_template writes it: a checkpoint's
// Jinja template over messages, with the bytes that the caller wrote marked, so that the tokenizer
// can read a typed "<|image_pad|>" as the text it is.
//
//   const auto chat = ChatTemplate::load(checkpoint_dir);
//   const RenderedPrompt prompt = chat.render(messages, {});
//   // prompt.text, prompt.literal
#pragma once

#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/byte_span.h"
#include "text/jinja_budget.h"

namespace mlxcel::text {

struct Template;

struct RenderedPrompt {
  std::string text;               // UTF-8
  std::vector<ByteSpan> literal;  // what the caller wrote: sorted, disjoint, merged
};

struct RenderOptions {
  bool add_generation_prompt = true;
  base::Json tools;      // a list of JSON schemas, or null
  base::Json documents;  // a list of objects, or null
  base::Json variables;  // an object of further variables (enable_thinking, ...), or null; it may
                         // replace special tokens, not what is set above
  std::function<std::tm()> clock;  // local time for strftime_now; the system's when empty
  JinjaLimits limits;
};

// Immutable; any number of threads may render from one.
class ChatTemplate {
 public:
  // Throws bad_input or unsupported, with `name` and the line.
  static ChatTemplate parse(const std::string& source, const std::string& name);

  // From chat_template.jinja, or `chat_template` in chat_template.json or in tokenizer_config.json
  // (a string, or a list of {name, template} with one named "default"), in this order. Special
  // tokens (bos_token, eos_token ...) come from tokenizer_config.json, then
  // special_tokens_map.json. Throws not_found when there is no template.
  static ChatTemplate load(const std::filesystem::path& checkpoint_dir);

  // `messages` is a list of objects. As in transformers 5, members of a message that are null are
  // dropped, and `reasoning_content`, `thinking` and `reasoning` stand in for one another.
  // All strings in the data are marked as the caller's, except a message's role when it is one of
  // the protocol's words (system, user, assistant ...): templates build special tokens from it.
  // Throws bad_input (also what raise_exception says), unsupported or resource_error (a limit).
  RenderedPrompt render(const base::Json& messages, const RenderOptions& options) const;

 private:
  ChatTemplate() = default;
  std::shared_ptr<const Template> template_;
  std::vector<std::pair<std::string, std::string>> special_tokens_;
};

}  // namespace mlxcel::text
