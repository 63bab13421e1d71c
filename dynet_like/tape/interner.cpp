// The rare paths of Interner: new sequences and growth.
#include "dynet_like/tape/interner.h"

#include <utility>

#include "dynet_like/core/make_room.h"

namespace dynet_like::detail {

void Interner::clear() {
  places_.assign(64, Place{});
  mask_ = places_.size() - 1;
  words_.clear();
  begin_.assign(1, 0);
}

std::uint32_t Interner::insert(std::span<const std::uint64_t> words, std::uint64_t hash,
                               std::size_t at) {
  if (2 * (size() + 1) > places_.size()) {
    grow();
    at = place_of(words, hash);
  }
  const auto id = static_cast<std::uint32_t>(size());
  make_room(begin_);
  words_.insert(words_.end(), words.begin(), words.end());
  // Nothing fails from here on.
  begin_.push_back(static_cast<std::uint32_t>(words_.size()));
  places_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
  return id;
}

void Interner::grow() {
  std::vector<Place> grown(2 * places_.size());
  const std::size_t mask = grown.size() - 1;
  for (std::uint32_t id = 0; id < size(); ++id) {
    const std::uint64_t hash = hash_of(words(id));
    std::size_t at = hash & mask;
    while (grown[at].id != kNone) at = (at + 1) & mask;
    grown[at] = {static_cast<std::uint32_t>(hash >> 32), id};
  }
  places_ = std::move(grown);
  mask_ = mask;
}

}  // namespace dynet_like::detail
