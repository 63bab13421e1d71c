// What recursions of layers run along.
#pragma once

#include <cstdint>
#include <span>

#include "dynet_like/graph/structure.h"
#include "nn/data/tree.h"

namespace dynet_like {
class Expression;
}

namespace dynet_like::nn {

/// Which nodes of a tree read columns.
enum class TreeColumns {
  leaves,            ///< leaf k from the left reads column k
  nodes,             ///< node i reads column i
  leaves_and_nodes,  ///< of two matrices: the first as `leaves`, the second as `nodes`
};

/// A vertex for every node of a tree, with its children as predecessors.
Structure structure_of(const Tree& tree, TreeColumns columns = TreeColumns::leaves);

/// A vertex for every word of a sentence, which reads the column of its number. The head of a word
/// is the number of another word, from 1 on, or 0 for a root, as in CoNLL-U; several roots are
/// several trees. The predecessors are the words that depend on a word, in their order, or its
/// head. Throws UsageError for a head that there is not, and for one below its own word.
Structure heads_bottom_up(std::span<const std::uint32_t> heads);
Structure heads_top_down(std::span<const std::uint32_t> heads);

/// How many columns a matrix has. Throws ShapeError, with the layer's name, for a minibatch.
unsigned columns_of(const Expression& matrix, const char* layer);

}  // namespace dynet_like::nn
