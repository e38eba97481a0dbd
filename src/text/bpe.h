// Byte-pair encoding of one word (Sennrich et al., arXiv:1508.07909): neighbouring tokens are
// joined in the order of the merge list until no listed pair is left. A heap of candidate pairs
// keeps the cost at O(n log n), so that a long run of letters cannot stall a server.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocab.h"

namespace mlxcel::text {

// The merge list of a file, in order, as pairs of spellings.
class MergeList {
 public:
  struct Pair {
    std::string_view left, right;
  };
  void add(std::string_view left, std::string_view right);
  size_t size() const { return lengths_.size(); }

  // Calls visit(index, pair) for each merge in order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    size_t at = 0;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const std::string_view both =
          std::string_view(blob_).substr(at, lengths_[i].left + size_t{lengths_[i].right});
      visit(i, Pair{both.substr(0, lengths_[i].left), both.substr(lengths_[i].left)});
      at += both.size();
    }
  }

 private:
  struct Lengths {
    uint32_t left, right;
  };
  std::string blob_;
  std::vector<Lengths> lengths_;
};

class Bpe {
 public:
  // Buffers that one thread reuses from word to word.
  class Scratch {
    friend class Bpe;
    struct Symbol {
      int32_t id;  // -1: joined to the symbol before it
      int32_t previous, next;
    };
    struct Candidate {
      uint64_t order;  // rank, then position: the smallest is joined first
      int32_t joined;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  // `file` opens the message of an error: kBadInput for a merge of tokens that the vocabulary
  // lacks. With `ignore_merges`, a word that is itself a token stays whole, whatever the merges
  // say.
  Bpe(const Vocab& vocab, const MergeList& merges, bool ignore_merges, const std::string& file);

  // Appends the tokens of a word (raw bytes, fewer than 2^31) to `out`. Bytes that have no token
  // are dropped, as the reference does without an unknown token. `vocab` is the one of the
  // constructor.
  void encode(std::string_view word, const Vocab& vocab, Scratch& scratch,
              std::vector<int32_t>& out) const;

  // Whether each of the 256 bytes has a token.
  bool covers_all_bytes() const;

 private:
  struct Merge {
    uint64_t pair = kNoPair;  // left id, right id
    uint32_t rank = 0;
    int32_t joined = 0;
  };
  static constexpr uint64_t kNoPair = UINT64_MAX;

  const Merge* find(int32_t left, int32_t right) const;
  size_t slot_of(uint64_t pair) const;
  void consider(Scratch& scratch, int32_t position) const;

  std::array<int32_t, 256> byte_ids_{};  // -1: no token
  std::vector<Merge> table_;             // open addressing, a power of two, at most half full
  bool ignore_merges_ = false;
};

}  // namespace mlxcel::text
