#include "text/vocab.h"

#include <functional>
#include <limits>

#include "base/error.h"

namespace mlxcel::text {

namespace {
constexpr size_t kFirstSlots = 64;
}

std::string_view Vocab::at(int32_t id) const {
  const Place& place = places_[static_cast<size_t>(id)];
  return std::string_view(blob_).substr(place.begin, place.length);
}

// The slot that holds the spelling, or the free one where it belongs.
size_t Vocab::slot_of(std::string_view spelling) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>{}(spelling)&mask;
  while (slots_[slot] >= 0 && at(slots_[slot]) != spelling) slot = (slot + 1) & mask;
  return slot;
}

void Vocab::grow() {
  const std::vector<int32_t> old = std::move(slots_);
  slots_.assign(old.empty() ? kFirstSlots : old.size() * 2, -1);
  for (const int32_t id : old) {
    if (id >= 0) slots_[slot_of(at(id))] = id;
  }
}

Vocab::Added Vocab::add(std::string_view spelling, int32_t id) {
  if (id < 0 || id > kMaxId) throw base::internal_error("token id {} out of range", id);
  if (blob_.size() + spelling.size() >= std::numeric_limits<uint32_t>::max()) {
    throw base::bad_input("a vocabulary with more than 4 GiB of text");
  }
  if (count_ * 2 >= slots_.size()) grow();
  const size_t slot = slot_of(spelling);
  if (slots_[slot] >= 0) return Added::kSpellingTaken;
  const auto index = static_cast<size_t>(id);
  if (index >= places_.size()) places_.resize(index + 1);
  if (places_[index].length != kNowhere) return Added::kIdTaken;
  places_[index] = {static_cast<uint32_t>(blob_.size()), static_cast<uint32_t>(spelling.size())};
  blob_ += spelling;
  slots_[slot] = id;
  ++count_;
  return Added::kYes;
}

std::optional<int32_t> Vocab::find(std::string_view spelling) const {
  if (slots_.empty()) return std::nullopt;
  const int32_t id = slots_[slot_of(spelling)];
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string_view> Vocab::spelling(int32_t id) const {
  if (id < 0 || id >= id_end() || places_[static_cast<size_t>(id)].length == kNowhere) {
    return std::nullopt;
  }
  return at(id);
}

}  // namespace mlxcel::text
