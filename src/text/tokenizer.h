// Text <-> token ids for byte-level BPE checkpoints (GPT-2, Qwen and their kin), equal to what the
// Hugging Face `tokenizers` library gives for the same files.
//
//   const auto tokenizer = Tokenizer::load("/models/qwen3-vl");
//   const auto ids = tokenizer.encode("<|im_start|>user\nhello<|im_end|>", user_spans);
//   StreamDecoder decoder(tokenizer);  // stream_decoder.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_span.h"

namespace mlxcel::text {

struct TokenizerOptions {
  // Rows of the model's embedding table, when it has more than there are tokens: ids between the
  // two are valid and stand for no text. 0: the ids of the tokenizer are all there are.
  int32_t padded_vocab = 0;
};

enum class SpecialTokens { kSkip, kKeep };

// Unchanging once made: any number of threads may use one, and copies share everything.
class Tokenizer {
 public:
  // From `tokenizer.json`, or without one from `vocab.json`, `merges.txt` and the
  // added_tokens_decoder of `tokenizer_config.json` (Qwen2's pattern and NFC). Throws kNotFound,
  // kBadInput for a file that contradicts itself, kUnsupported (naming it) for a kind of model,
  // normalizer, pre-tokenizer or decoder that is not known here.
  static Tokenizer load(const std::filesystem::path& checkpoint_dir,
                        const TokenizerOptions& options = {});
  // From the text of a tokenizer.json; `name` opens the messages of errors.
  static Tokenizer from_json(std::string_view text, const std::string& name,
                             const TokenizerOptions& options = {});

  // Ids of a text, without tokens at its begin or end that the text does not have (the reference's
  // add_special_tokens=False; truncation and padding settings of the file do not count).
  // `literal` marks bytes that a user wrote: an added token is recognised only where no byte of its
  // text is literal; everything else is done as if nothing were marked. Malformed UTF-8 becomes
  // U+FFFD first. Throws kInternal for a range outside the text, kBadInput for a text of 256 MiB or
  // more, kResource when the file's patterns take too many steps on it.
  std::vector<int32_t> encode(std::string_view text, std::span<const ByteSpan> literal = {}) const;

  // The text of a whole sequence, malformed parts replaced by U+FFFD. Throws kBadInput for an id
  // that is negative or not below the size of the vocabulary (padding included).
  std::string decode(std::span<const int32_t> ids,
                     SpecialTokens special = SpecialTokens::kSkip) const;

  // The raw bytes of one token, which need not be whole characters; empty for an id that pads the
  // vocabulary. Throws like decode.
  std::string_view token_bytes(int32_t id) const;

  // The id of a token, spelled as in the file: an added token by its text ("<|im_end|>"), another
  // one in the byte alphabet ("Ġhello").
  std::optional<int32_t> find(std::string_view spelling) const;

  int32_t vocab_size() const;         // largest id of a token + 1
  bool is_special(int32_t id) const;  // false for an id without a token

 private:
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace mlxcel::text
