#include "text/added_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "text/characters.h"

namespace mlxcel::text {
namespace {

constexpr size_t kMaxContent = 512;  // bytes; bounds the work at each position of a text

bool touches_word(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && is_word_character(character_before(text, begin).value)) ||
         (end < text.size() && is_word_character(character_at(text, end).value));
}

// Where the white space in front of `at` begins, not before `floor`.
size_t space_begin(std::string_view text, size_t at, size_t floor) {
  while (at > floor) {
    const Character c = character_before(text, at);
    if (!is_space_character(c.value)) break;
    at -= c.length;
  }
  return at;
}

size_t space_end(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Character c = character_at(text, at);
    if (!is_space_character(c.value)) break;
    at += c.length;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Vocab& vocab,
                         const Normalizer& normalizer, const std::string& file)
    : tokens_(std::move(tokens)) {
  auto next_id = static_cast<int64_t>(vocab.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    const auto shown = token.content.substr(0, 40);
    if (token.content.empty() || token.content.size() > kMaxContent) {
      throw base::bad_input("{}: added token {} has {} bytes of text, expected 1 to {}", file,
                            token.id, token.content.size(), kMaxContent);
    }
    const auto known = vocab.find(token.content);
    const int64_t expected = known ? *known : next_id;
    if (token.id != expected) {
      throw base::bad_input("{}: added token '{}' has the id {}, expected {} ({})", file, shown,
                            token.id, expected,
                            known ? "its id in the vocabulary" : "the next free one");
    }
    // Ids follow the largest one of the added tokens, once that lies beyond the vocabulary.
    if (token.id >= next_id) next_id = int64_t{token.id} + 1;
    if (!by_content_.emplace(token.content, i).second) {
      throw base::bad_input("{}: added token '{}' is listed twice", file, shown);
    }
    if (!by_id_.emplace(token.id, i).second || (!known && vocab.spelling(token.id))) {
      throw base::bad_input("{}: added token '{}' has the id {}, which another token has", file,
                            shown, token.id);
    }
  }
  for (const bool special : {true, false}) {  // of equal patterns, the first special one counts
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const AddedToken& token = tokens_[i];
      if (token.special != special) continue;
      Patterns& set = token.normalized ? normalized_ : raw_;
      std::string text =
          token.normalized ? normalizer.apply({token.content, {}}).text : token.content;
      if (text.empty()) continue;
      set.first[static_cast<uint8_t>(text[0])] = true;
      set.sorted.push_back({std::move(text), i});
    }
  }
  for (Patterns* set : {&raw_, &normalized_}) {
    const auto less = [](const Pattern& a, const Pattern& b) { return a.text < b.text; };
    const auto same = [](const Pattern& a, const Pattern& b) { return a.text == b.text; };
    std::stable_sort(set->sorted.begin(), set->sorted.end(), less);
    set->sorted.erase(std::unique(set->sorted.begin(), set->sorted.end(), same), set->sorted.end());
  }
}

std::optional<int32_t> AddedTokens::find(std::string_view content) const {
  const auto it = by_content_.find(content);
  return it == by_content_.end() ? std::nullopt : std::optional(tokens_[it->second].id);
}

const AddedToken* AddedTokens::by_id(int32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &tokens_[it->second];
}

// Narrows the sorted patterns byte by byte to those that begin like the text at this position.
const AddedTokens::Pattern* AddedTokens::longest_at(const Patterns& patterns, std::string_view text,
                                                    size_t at, const LiteralSpans& literal) {
  const Pattern* longest = nullptr;
  auto low = patterns.sorted.begin();
  auto high = patterns.sorted.end();
  for (size_t length = 0; low != high; ++length) {
    if (low->text.size() == length) {
      if (length > 0 && !literal.overlap(at, at + length)) longest = &*low;
      if (++low == high) break;
    }
    if (at + length >= text.size()) break;
    const auto byte = static_cast<uint8_t>(text[at + length]);
    const auto byte_of = [length](const Pattern& pattern) {
      return static_cast<uint8_t>(pattern.text[length]);
    };
    low = std::partition_point(low, high,
                               [&](const Pattern& pattern) { return byte_of(pattern) < byte; });
    high = std::partition_point(low, high,
                                [&](const Pattern& pattern) { return byte_of(pattern) == byte; });
  }
  return longest;
}

std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text,
                                                   const LiteralSpans& literal, Stage stage) const {
  const Patterns& set = patterns(stage);
  std::vector<Piece> pieces;
  size_t done = 0;     // everything before is in `pieces`
  size_t run_end = 0;  // end of the last white space that was taken along
  for (size_t at = 0; at < text.size() && !set.sorted.empty();) {
    const Pattern* pattern =
        set.first[static_cast<uint8_t>(text[at])] ? longest_at(set, text, at, literal) : nullptr;
    if (pattern == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + pattern->text.size();
    at = end;
    const AddedToken& token = tokens_[pattern->token];
    if (token.single_word && touches_word(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(space_begin(text, begin, done), done);
    if (token.rstrip) {
      // Tokens of white space would walk over the same run again and again.
      if (end > run_end) run_end = space_end(text, end);
      end = run_end;
    }
    if (done < begin) pieces.push_back({done, begin, std::nullopt});
    // A token of white space may lie inside the space that the one before took along. Like the
    // reference, go on from its end, and count it unless `lstrip` leaves it no text of its own.
    if (begin < end) pieces.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) pieces.push_back({done, text.size(), std::nullopt});
  return pieces;
}

}  // namespace mlxcel::text
