// What recursions of layers run along.
#pragma once

#include "dynet_like/graph/structure.h"
#include "nn/data/tree.h"

namespace dynet_like {
struct Expression;
}

namespace dynet_like::nn {

/// A vertex for every node of a tree, with its children as predecessors. Leaf k from the left reads
/// column k.
Structure structure_of(const Tree& tree);

/// How many columns a matrix has. Throws ShapeError, with the layer's name, for a minibatch.
unsigned columns_of(const Expression& matrix, const char* layer);

}  // namespace dynet_like::nn
