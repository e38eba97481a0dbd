// The tokens of a vocabulary file, both ways: spelling -> id and id -> spelling. Vocabularies have
// hundreds of thousands of entries, so all spellings lie in one string and the index is flat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlxcel::text {

class Vocab {
 public:
  // Ids are indices of dense tables, so they are bounded; the largest vocabularies in use have a
  // quarter of a million entries.
  static constexpr int64_t kMaxId = (int64_t{1} << 21) - 1;

  enum class Added { kYes, kSpellingTaken, kIdTaken };
  // `id` must lie in 0..kMaxId.
  Added add(std::string_view spelling, int32_t id);

  std::optional<int32_t> find(std::string_view spelling) const;
  // Nothing for an id without a token (and for one out of range).
  std::optional<std::string_view> spelling(int32_t id) const;

  size_t size() const { return count_; }                                   // tokens
  int32_t id_end() const { return static_cast<int32_t>(places_.size()); }  // largest id + 1

 private:
  struct Place {
    uint32_t begin = 0;
    uint32_t length = kNowhere;
  };
  static constexpr uint32_t kNowhere = UINT32_MAX;

  std::string_view at(int32_t id) const;
  size_t slot_of(std::string_view spelling) const;
  void grow();

  std::string blob_;
  std::vector<Place> places_;   // by id
  std::vector<int32_t> slots_;  // open addressing, linear probing; -1 is free
  size_t count_ = 0;
};

}  // namespace mlxcel::text
