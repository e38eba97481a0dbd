// Tokens that a tokenizer file lists beside its vocabulary (<|im_start|>, <think> ...). They are
// found in the text before anything else happens to it, and only in text that no user wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/literal_spans.h"
#include "text/normalizer.h"
#include "text/vocab.h"

namespace mlxcel::text {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;      // left out of decoded text on request
  bool normalized = false;   // looked for after normalisation, in its own normalised form
  bool lstrip = false;       // takes the white space in front of it along
  bool rstrip = false;       // and behind it
  bool single_word = false;  // only where no word character touches it
};

class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(AddedTokens&&) = default;  // not copied: the index refers to the tokens' own text
  AddedTokens& operator=(AddedTokens&&) = default;
  // In the order of the file, which decides ids in the reference: a token of the vocabulary keeps
  // its id, the others follow the vocabulary one by one. Throws kBadInput when an id of the file
  // differs, or for a token without text or listed twice.
  AddedTokens(std::vector<AddedToken> tokens, const Vocab& vocab, const Normalizer& normalizer,
              const std::string& file);

  std::optional<int32_t> find(std::string_view content) const;
  const AddedToken* by_id(int32_t id) const;
  const std::vector<AddedToken>& tokens() const { return tokens_; }

  struct Piece {
    size_t begin, end;
    std::optional<int32_t> id;  // nothing: ordinary text
  };
  enum class Stage { kBeforeNormalizing, kAfterNormalizing };
  // Cuts a text at the tokens of one stage: at each position the longest one counts, and none that
  // overlaps a literal byte. White space that a token takes along may be literal.
  std::vector<Piece> split(std::string_view text, const LiteralSpans& literal, Stage stage) const;
  bool has_any(Stage stage) const { return !patterns(stage).sorted.empty(); }

 private:
  struct Pattern {
    std::string text;
    size_t token;  // index into tokens_
  };
  struct Patterns {
    std::vector<Pattern> sorted;                       // by text
    std::vector<bool> first = std::vector<bool>(256);  // bytes that begin one
  };
  const Patterns& patterns(Stage stage) const {
    return stage == Stage::kBeforeNormalizing ? raw_ : normalized_;
  }
  static const Pattern* longest_at(const Patterns& patterns, std::string_view text, size_t at,
                                   const LiteralSpans& literal);

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string_view, size_t> by_content_;
  std::unordered_map<int32_t, size_t> by_id_;
  Patterns raw_, normalized_;
};

}  // namespace mlxcel::text
