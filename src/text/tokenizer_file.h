// Reads tokenizer.json and vocab.json in one pass. Their vocabularies and merge lists have hundreds
// of thousands of entries, which go straight into their tables instead of through a document tree:
// a file of 11 MB loads in a tenth of a second, and an ordered tree would take quadratic time.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "text/bpe.h"
#include "text/vocab.h"

namespace mlxcel::text {

struct TokenizerFile {
  base::Json rest;  // the document; model.vocab and model.merges are left out
  Vocab vocab;
  MergeList merges;
  bool has_vocab = false;   // model.vocab is there, and is an object
  bool has_merges = false;  // model.merges is there, and is a list
};

// Each throws kBadInput with `name` (a file) in front: text that is not JSON, an id that is not an
// integer of 0..Vocab::kMaxId, a token or an id listed twice, a merge that is not of two tokens, a
// document that is nested too deep or too wide.
TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& name);

// A vocab.json: one object of spelling -> id.
Vocab parse_vocab(std::string_view text, const std::string& name);

// A merges.txt: two tokens a line, divided by a space; "#version" lines and empty ones do not
// count.
MergeList parse_merges(std::string_view text, const std::string& name);

// A small document (tokenizer_config.json) whose size was not chosen by us.
base::Json parse_bounded_json(std::string_view text, const std::string& name);

}  // namespace mlxcel::text
