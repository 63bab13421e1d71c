// Structures of trees and matrices.
#include "nn/structures.h"

#include <array>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

Structure structure_of(const Tree& tree, TreeColumns columns) {
  std::vector<Structure::Vertex> vertices(tree.size());
  std::vector<std::array<unsigned, 2>> of_node(tree.size());
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    const unsigned leaf = tree.is_leaf(node) ? tree.nodes()[node].word : Structure::kNoColumn;
    vertices[node].predecessors = tree.children(node);
    vertices[node].column = columns == TreeColumns::leaves ? leaf : node;
    of_node[node] = {leaf, node};
    if (columns == TreeColumns::leaves_and_nodes) vertices[node].columns = of_node[node];
  }
  return Structure(vertices);
}

namespace {

Structure structure_of_words(const std::vector<std::vector<unsigned>>& predecessors) {
  std::vector<Structure::Vertex> vertices(predecessors.size());
  for (unsigned word = 0; word < vertices.size(); ++word) {
    vertices[word] = {predecessors[word], word, 0};
  }
  return Structure(vertices);
}

void check_head(std::uint32_t head, std::size_t words) {
  if (head <= words) return;
  throw UsageError("[heads] need heads of at most " + std::to_string(words) + "; got " +
                   std::to_string(head));
}

}  // namespace

Structure heads_bottom_up(std::span<const std::uint32_t> heads) {
  std::vector<std::vector<unsigned>> dependants(heads.size());
  for (unsigned word = 0; word < heads.size(); ++word) {
    check_head(heads[word], heads.size());
    if (heads[word] > 0) dependants[heads[word] - 1].push_back(word);
  }
  return structure_of_words(dependants);
}

Structure heads_top_down(std::span<const std::uint32_t> heads) {
  std::vector<std::vector<unsigned>> head_of(heads.size());
  for (unsigned word = 0; word < heads.size(); ++word) {
    check_head(heads[word], heads.size());
    if (heads[word] > 0) head_of[word].push_back(heads[word] - 1);
  }
  return structure_of_words(head_of);
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
