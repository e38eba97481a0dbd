#include "text/bpe.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "text/byte_level.h"

namespace mlxcel::text {
namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

// The finaliser of splitmix64: spreads the few bits in which pairs of ids differ.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

void MergeList::add(std::string_view left, std::string_view right) {
  if (left.size() >= UINT32_MAX || right.size() >= UINT32_MAX) {
    throw base::bad_input("a merge of more than 4 GiB");
  }
  blob_ += left;
  blob_ += right;
  lengths_.push_back({static_cast<uint32_t>(left.size()), static_cast<uint32_t>(right.size())});
}

Bpe::Bpe(const Vocab& vocab, const MergeList& merges, bool ignore_merges, const std::string& file)
    : ignore_merges_(ignore_merges) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_ids_[static_cast<size_t>(byte)] = vocab.find(spell_bytes({&c, 1})).value_or(-1);
  }
  table_.resize(std::bit_ceil(std::max<size_t>(2, merges.size() * 2)));
  const auto id_of = [&](std::string_view spelling, size_t index) {
    const auto id = vocab.find(spelling);
    if (!id) {
      throw base::bad_input("{}: merge {} needs the token '{}', which the vocabulary lacks", file,
                            index, spelling.substr(0, 40));
    }
    return *id;
  };
  std::string both;
  merges.for_each([&](size_t index, const MergeList::Pair& merge) {
    both.assign(merge.left).append(merge.right);
    const uint64_t pair = pair_of(id_of(merge.left, index), id_of(merge.right, index));
    // A pair listed twice takes its last place, as in the reference.
    table_[slot_of(pair)] = {pair, static_cast<uint32_t>(index), id_of(both, index)};
  });
}

size_t Bpe::slot_of(uint64_t pair) const {
  const size_t mask = table_.size() - 1;
  size_t slot = mix(pair) & mask;
  while (table_[slot].pair != pair && table_[slot].pair != kNoPair) slot = (slot + 1) & mask;
  return slot;
}

const Bpe::Merge* Bpe::find(int32_t left, int32_t right) const {
  const Merge& merge = table_[slot_of(pair_of(left, right))];
  return merge.pair == kNoPair ? nullptr : &merge;
}

bool Bpe::covers_all_bytes() const {
  return std::none_of(byte_ids_.begin(), byte_ids_.end(), [](int32_t id) { return id < 0; });
}

// Puts the pair that begins at `position` on the heap, if the list has it.
void Bpe::consider(Scratch& scratch, int32_t position) const {
  const auto& symbol = scratch.symbols[static_cast<size_t>(position)];
  if (symbol.next < 0) return;
  const Merge* merge = find(symbol.id, scratch.symbols[static_cast<size_t>(symbol.next)].id);
  if (merge == nullptr) return;
  scratch.heap.push_back(
      {(uint64_t{merge->rank} << 32) | static_cast<uint32_t>(position), merge->joined});
}

void Bpe::encode(std::string_view word, const Vocab& vocab, Scratch& scratch,
                 std::vector<int32_t>& out) const {
  if (ignore_merges_) {
    if (const auto id = vocab.find(spell_bytes(word))) {
      out.push_back(*id);
      return;
    }
  }
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  symbols.clear();
  heap.clear();
  for (const char c : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id < 0) continue;
    const auto here = static_cast<int32_t>(symbols.size());
    symbols.push_back({id, here - 1, here + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;

  const auto later = [](const auto& a, const auto& b) { return a.order > b.order; };
  for (int32_t i = 0; i < static_cast<int32_t>(symbols.size()); ++i) consider(scratch, i);
  std::make_heap(heap.begin(), heap.end(), later);
  const auto push = [&](int32_t position) {
    const size_t before = heap.size();
    consider(scratch, position);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), later);
  };

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const auto candidate = heap.back();
    heap.pop_back();
    const auto position = static_cast<int32_t>(candidate.order & UINT32_MAX);
    auto& left = symbols[static_cast<size_t>(position)];
    if (left.id < 0 || left.next < 0) continue;
    auto& right = symbols[static_cast<size_t>(left.next)];
    // One of the two may have been joined to another neighbour since. Like the reference, ask
    // whether the pair of now gives the same token, not whether it is the same pair.
    const Merge* merge = find(left.id, right.id);
    if (merge == nullptr || merge->joined != candidate.joined) continue;
    left.id = candidate.joined;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = position;
    if (left.previous >= 0) push(left.previous);
    push(position);
  }
  for (const auto& symbol : symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

}  // namespace mlxcel::text
