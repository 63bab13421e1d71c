// Gives sequences of words dense numbers, so that equal sequences have equal numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like::detail {

/// The hash only finds candidates; all words are compared to decide whether a sequence is the same.
class Interner {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Interner() { clear(); }

  /// The number of this sequence, or kNone.
  std::uint32_t find(std::span<const std::uint64_t> words) const {
    return places_[place_of(words, hash_of(words))].id;
  }

  /// The number of this sequence, a new one if it has none. Numbers count from 0. If memory runs
  /// out, nothing changes.
  std::uint32_t intern(std::span<const std::uint64_t> words) {
    const std::uint64_t hash = hash_of(words);
    const std::size_t at = place_of(words, hash);
    return places_[at].id != kNone ? places_[at].id : insert(words, hash, at);
  }

  std::size_t size() const { return begin_.size() - 1; }
  void clear();

 private:
  struct Place {
    std::uint32_t hash = 0, id = kNone;
  };

  static std::uint64_t hash_of(std::span<const std::uint64_t> words) {
    std::uint64_t hash = words.size();
    for (std::uint64_t word : words) hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 32;
  }

  // The place where the sequence is, or would be inserted.
  std::size_t place_of(std::span<const std::uint64_t> words, std::uint64_t hash) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Place& place = places_[at];
      if (place.id == kNone) return at;
      if (place.hash == static_cast<std::uint32_t>(hash >> 32) && equal(place.id, words)) return at;
    }
  }

  bool equal(std::uint32_t id, std::span<const std::uint64_t> words) const {
    const std::uint64_t* have = words_.data() + begin_[id];
    if (begin_[id + 1] - begin_[id] != words.size()) return false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (have[i] != words[i]) return false;
    }
    return true;
  }

  std::span<const std::uint64_t> words(std::uint32_t id) const {
    return std::span(words_).subspan(begin_[id], begin_[id + 1] - begin_[id]);
  }

  std::uint32_t insert(std::span<const std::uint64_t> words, std::uint64_t hash, std::size_t at);
  void grow();

  std::vector<Place> places_;
  std::size_t mask_ = 0;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> begin_;
};

}  // namespace dynet_like::detail
