// The rare paths of Interner: a new sequence, and growth.
#include "dynet_like/tape/interner.h"

namespace dynet_like {

void Interner::clear() {
  places_.assign(64, Place{});
  mask_ = places_.size() - 1;
  words_.clear();
  begin_.assign(1, 0);
}

std::uint32_t Interner::insert(std::span<const std::uint64_t> words, std::uint64_t hash,
                               std::size_t at) {
  const auto id = static_cast<std::uint32_t>(size());
  words_.insert(words_.end(), words.begin(), words.end());
  begin_.push_back(static_cast<std::uint32_t>(words_.size()));
  places_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
  if (2 * size() > places_.size()) grow();
  return id;
}

void Interner::grow() {
  places_.assign(2 * places_.size(), Place{});
  mask_ = places_.size() - 1;
  for (std::uint32_t id = 0; id < size(); ++id) {
    const std::uint64_t hash = hash_of(words(id));
    std::size_t at = hash & mask_;
    while (places_[at].id != kNone) at = (at + 1) & mask_;
    places_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
  }
}

}  // namespace dynet_like
