// Finds the occurrences of words in a sample.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "batching/find_words.h"

namespace dynet_like::batching {

/// What a node belongs to.
struct Place {
  static constexpr std::uint32_t alone = UINT32_MAX;

  std::uint32_t word = alone;  ///< which of the words
  std::uint32_t first = 0;     ///< the node that begins this occurrence; itself if it is alone
};

/// Whether these nodes may be an occurrence of this word; `places` are those found so far.
using MayStand = std::function<bool(std::uint32_t word, std::span<const std::uint32_t> nodes,
                                    std::span<const Place> places)>;

/// Knows words by their first types. The words must outlive it.
class WordPlacer {
 public:
  explicit WordPlacer(const Words& words);

  /// Per node of a sample with these types in recording order. From left to right, the longest word
  /// that fits and may stand there is taken. Between its nodes there may be those of words that
  /// began before, and loose ones if it has none itself.
  std::vector<Place> place(std::span<const std::uint32_t> types,
                           const MayStand& may_stand = {}) const;

 private:
  bool find(std::uint32_t word, std::span<const std::uint32_t> types, std::span<const Place> places,
            std::uint32_t first, std::vector<std::uint32_t>& nodes) const;

  const Words& words_;
  std::vector<std::uint32_t> first_;      ///< per type and one more, into by_length_
  std::vector<std::uint32_t> by_length_;  ///< words by their first type, the longest first
};

}  // namespace dynet_like::batching
