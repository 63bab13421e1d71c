// Structures for recursions of layers: trees and dependencies.
#pragma once

#include <cstdint>
#include <span>

#include "dynet_like/graph/structure.h"
#include "nn/data/tree.h"

namespace dynet_like {
class Expression;
}

namespace dynet_like::nn {

/// Which nodes of a tree read which columns.
enum class TreeColumns {
  leaves,            ///< leaf k from the left reads column k
  nodes,             ///< node i reads column i
  leaves_and_nodes,  ///< for two matrices: the first as `leaves`, the second as `nodes`
};

/// The structure of a tree: a vertex for every node, with its children as predecessors.
Structure structure_of(const Tree& tree, TreeColumns columns = TreeColumns::leaves);

/// The structure of a dependency tree: a vertex for every word, which reads the word's column.
/// heads[i] is the number of a word, from 1 on, or 0 for a root, as in CoNLL-U; there may be
/// several roots. The predecessors of a word are its dependants in order (bottom up), or its head
/// (top down). Throws UsageError for a head that does not exist, and for a cycle.
Structure heads_bottom_up(std::span<const std::uint32_t> heads);
Structure heads_top_down(std::span<const std::uint32_t> heads);

}  // namespace dynet_like::nn
