// Finds the occurrences of words in a sample.
#pragma once

#include <cstdint>
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

/// Per node of a sample with these types in recording order. From left to right, the longest word
/// that fits is taken.
std::vector<Place> place_words(std::span<const std::uint32_t> types, const Words& words);

}  // namespace dynet_like::batching
