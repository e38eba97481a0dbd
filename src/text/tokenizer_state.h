// The parts that make up a tokenizer, put together by its loader and used by encode and decode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

namespace mlxcel::text {

struct Tokenizer::State {
  State(Vocab vocabulary, const MergeList& merges, bool ignore_merges, const std::string& file)
      : vocab(std::move(vocabulary)), bpe(vocab, merges, ignore_merges, file) {}

  Vocab vocab;  // without the added tokens
  Bpe bpe;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  AddedTokens added;

  // What each id stands for; filled by `index_bytes` when the rest is in place.
  struct Bytes {
    uint32_t begin = 0;
    uint32_t length = 0;
    bool special = false;
  };
  std::string bytes_blob;
  std::vector<Bytes> bytes;  // by id, up to the largest token's
  int32_t id_end = 0;        // first id that is an error
  void index_bytes(const TokenizerOptions& options, const std::string& file);
};

}  // namespace mlxcel::text
