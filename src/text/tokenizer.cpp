#include "text/tokenizer.h"

#include <deque>

#include "base/error.h"
#include "base/utf8.h"
#include "text/literal_spans.h"
#include "text/tokenizer_state.h"

namespace mlxcel::text {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;

}  // namespace

std::vector<int32_t> Tokenizer::encode(std::string_view text,
                                       std::span<const ByteSpan> literal) const {
  using Stage = AddedTokens::Stage;
  const State& state = *state_;
  if (text.size() >= kMaxText)
    throw base::bad_input("a text of {} bytes, expected less than {}", text.size(), kMaxText);
  const MarkedText input = repair_marked(text, literal);

  std::vector<int32_t> ids;
  ids.reserve(input.text.size() / 3 + 8);
  Bpe::Scratch scratch;
  const auto encode_words = [&](std::string_view piece) {
    std::deque<std::string> added;
    std::vector<std::string_view> words;
    state.pre_tokenizer.split(piece, added, words);
    for (const std::string_view word : words) state.bpe.encode(word, state.vocab, scratch, ids);
  };
  // Two rounds, as in the reference: tokens that are looked for in the text as it is, and then, in
  // each piece between them, tokens that are looked for after normalisation.
  for (const auto& outer :
       state.added.split(input.text, input.literal, Stage::kBeforeNormalizing)) {
    if (outer.id) {
      ids.push_back(*outer.id);
      continue;
    }
    const MarkedText piece =
        state.normalizer.apply({input.text.substr(outer.begin, outer.end - outer.begin),
                                input.literal.within(outer.begin, outer.end)});
    for (const auto& inner :
         state.added.split(piece.text, piece.literal, Stage::kAfterNormalizing)) {
      if (inner.id) {
        ids.push_back(*inner.id);
      } else {
        encode_words(std::string_view(piece.text).substr(inner.begin, inner.end - inner.begin));
      }
    }
  }
  return ids;
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  const State& state = *state_;
  if (id < 0 || id >= state.id_end) {
    throw base::bad_input("token id {} is out of range, expected 0 to {}", id, state.id_end - 1);
  }
  if (static_cast<size_t>(id) >= state.bytes.size()) return {};
  const auto& place = state.bytes[static_cast<size_t>(id)];
  return std::string_view(state.bytes_blob).substr(place.begin, place.length);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, SpecialTokens special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    const std::string_view token = token_bytes(id);
    if (special == SpecialTokens::kKeep || !is_special(id)) bytes += token;
  }
  return base::repair_utf8(bytes);
}

std::optional<int32_t> Tokenizer::find(std::string_view spelling) const {
  const auto added = state_->added.find(spelling);
  return added ? added : state_->vocab.find(spelling);
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(state_->bytes.size()); }

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < state_->bytes.size() &&
         state_->bytes[static_cast<size_t>(id)].special;
}

}  // namespace mlxcel::text
