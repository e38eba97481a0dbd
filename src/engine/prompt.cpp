#include "engine/prompt.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace mlxcel::engine {

base::Json to_json(const Conversation& conversation) {
  base::Json messages = base::Json::array();
  for (const Message& message : conversation) {
    base::Json content;
    if (message.content.size() == 1 && message.content.front().kind == ContentPart::Kind::kText) {
      content = message.content.front().text;
    } else {
      content = base::Json::array();
      for (const ContentPart& part : message.content) {
        content.push_back(part.kind == ContentPart::Kind::kImage
                              ? base::Json{{"type", "image"}}
                              : base::Json{{"type", "text"}, {"text", part.text}});
      }
    }
    messages.push_back(base::Json{{"role", message.role}, {"content", std::move(content)}});
  }
  return messages;
}

PreparedPrompt expand_placeholders(std::span<const int32_t> token_ids,
                                   const models::ModelInfo& info,
                                   std::span<const int64_t> image_tokens) {
  PreparedPrompt prompt;
  size_t picture = 0;
  for (const int32_t id : token_ids) {
    const bool placeholder = info.images && id == info.images->placeholder_id;
    if (!placeholder) {
      prompt.token_ids.push_back(id);
      prompt.visual.push_back(0);
      continue;
    }
    if (picture < image_tokens.size()) {
      const auto count = static_cast<size_t>(image_tokens[picture]);
      prompt.token_ids.insert(prompt.token_ids.end(), count, id);
      prompt.visual.insert(prompt.visual.end(), count, 1);
    }
    ++picture;
  }
  if (picture != image_tokens.size()) {
    throw base::bad_input("the prompt has {} image placeholders for {} images", picture,
                          image_tokens.size());
  }
  if (prompt.token_ids.empty()) throw base::bad_input("the prompt is empty");
  prompt.image_tokens.assign(image_tokens.begin(), image_tokens.end());
  prompt.positions.resize(prompt.token_ids.size());
  std::iota(prompt.positions.begin(), prompt.positions.end(), 0);
  prompt.next_position = static_cast<int64_t>(prompt.token_ids.size());
  return prompt;
}

std::vector<int32_t> encode_conversation(const Conversation& conversation,
                                         const text::ChatTemplate& chat_template,
                                         const text::Tokenizer& tokenizer) {
  const text::RenderedPrompt rendered = chat_template.render(to_json(conversation), {});
  return tokenizer.encode(rendered.text, rendered.literal);
}

}  // namespace mlxcel::engine
