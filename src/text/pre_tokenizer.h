// Cuts text into the words that byte-pair encoding works on, by the steps of a tokenizer file:
// splits at patterns, and at the end the step to the byte alphabet.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/regex.h"

namespace mlxcel::text {

class PreTokenizer {
 public:
  // The "pre_tokenizer" of a tokenizer.json: ByteLevel, or a Sequence of Split and Digits with
  // ByteLevel as its last item. Throws kUnsupported, by name, for anything else.
  static PreTokenizer parse(const base::JsonField& field);
  // The one of Qwen2 and its successors, for checkpoints without a tokenizer.json.
  static PreTokenizer qwen2();

  // The words of a text, none of them empty, in order: views into `text` or into `added`, which
  // holds what a prefix space was put in front of. Valid UTF-8.
  void split(std::string_view text, std::deque<std::string>& added,
             std::vector<std::string_view>& words) const;

 private:
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  struct Step {
    std::optional<Regex>
        pattern;  // nothing: put a space in front of a piece that does not begin with one
    Behavior behavior = Behavior::kIsolated;
    bool invert = false;
  };
  void parse_item(const base::JsonField& field, bool last);
  void add_byte_level(const base::JsonField& field);
  static void split_piece(const Step& step, std::string_view piece,
                          std::vector<std::string_view>& out);

  std::vector<Step> steps_;
};

}  // namespace mlxcel::text
