// Finds what repeats in recorded programs: sequences of node types that can run as one node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like::batching {

/// What finding needs to know of a type.
struct TypeFacts {
  std::uint32_t chain = 0;  ///< the longest chain of its nodes: the fewest batches for them
  float call_cost = 1;      ///< of one more kernel call: about 0.1 elementwise, 1 for a product
  bool foldable = true;     ///< may stand in a word
};

struct Words {
  std::vector<std::vector<std::uint32_t>> words;  ///< sequences of types, at least 2 long
  /// Per type: 1 if its nodes stay out of other words and do not interrupt them. A word has either
  /// no loose types or nothing but loose types.
  std::vector<std::uint8_t> loose;
};

/// `types`: for all samples one after another, the types of their nodes in recording order; sample
/// s is types[begin[s], begin[s + 1]). Every type is below facts.size().
///
/// A word is a cell of a program: what it begins with is always followed by the rest, or the rest
/// never stands elsewhere. Running its nodes as one costs a type few more batches than it needs.
/// What saves most nodes comes first. The nodes of an occurrence may have loose ones between them,
/// so a caller sees to it that no path leaves the occurrence and comes back.
Words find_words(std::span<const std::uint32_t> types, std::span<const std::uint32_t> begin,
                 std::span<const TypeFacts> facts);

}  // namespace dynet_like::batching
