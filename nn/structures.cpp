// Structures of trees and matrices.
#include "nn/structures.h"

#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

Structure structure_of(const Tree& tree) {
  std::vector<Structure::Vertex> vertices(tree.size());
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    vertices[node].predecessors = tree.children(node);
    if (tree.is_leaf(node)) vertices[node].column = tree.nodes()[node].word;
  }
  return Structure(vertices);
}

unsigned columns_of(const Expression& matrix, const char* layer) {
  const Dim& dim = matrix.dim();
  if (dim.nd > 2 || dim.bd != 1) {
    throw ShapeError("[" + std::string(layer) +
                     "] need a matrix with a column for each element; got " + to_string(dim));
  }
  return dim.cols();
}

}  // namespace dynet_like::nn
