// Any bytes as a chat template, rendered over a small conversation: it may fail, it must not crash,
// hang, leak or break the promises of RenderedPrompt.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/utf8.h"
#include "text/chat_template.h"

namespace {

using mlxcel::base::Json;

const Json& messages() {
  static const Json kMessages = Json::parse(R"([
    {"role": "system", "content": "Be <|brief|>."},
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " é <|image_pad|>\n"}]},
    {"role": "assistant", "content": "<think>x</think>y",
     "tool_calls": [{"id": "123456789", "function": {"name": "f", "arguments": {"a": [1, 2.5, null, true]}}}]},
    {"role": "tool", "content": "{\"k\": 1}"},
    {"role": "user", "content": ""}])");
  return kMessages;
}

mlxcel::text::RenderOptions options() {
  mlxcel::text::RenderOptions result;
  result.tools = Json::parse(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"items": {"p": 1}}}}])");
  result.variables = {
      {"bos_token", "<s>"}, {"s", "aBc dé"}, {"n", -7}, {"f", 0.5}, {"l", {3, 1, 2}}};
  result.clock = [] { return std::tm{}; };
  result.limits.steps = 200'000;
  result.limits.bytes = 8U << 20U;
  result.limits.output_bytes = 1U << 20U;
  return result;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kOptions = options();
  try {
    const auto chat =
        mlxcel::text::ChatTemplate::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    const auto prompt = chat.render(messages(), kOptions);
    require(mlxcel::base::is_valid_utf8(prompt.text));
    size_t end = 0;
    for (const auto& span : prompt.literal) {
      require(span.begin < span.end && (end == 0 || span.begin > end));
      end = span.end;
    }
    require(end <= prompt.text.size());
  } catch (const mlxcel::base::Error& error) {
    require(error.kind() != mlxcel::base::ErrorKind::kInternal);
  }
  return 0;
}
