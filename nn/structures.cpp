// Structures of trees and matrices.
#include "nn/structures.h"

#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

Structure structure_of(const Tree& tree, TreeColumns columns) {
  std::vector<Structure::Vertex> vertices(tree.size());
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    const unsigned leaf = tree.is_leaf(node) ? tree.nodes()[node].word : Structure::kNoColumn;
    const auto children = tree.children(node);
    vertices[node].predecessors.assign(children.begin(), children.end());
    vertices[node].column = columns == TreeColumns::leaves ? leaf : node;
    if (columns == TreeColumns::leaves_and_nodes) vertices[node].columns = {leaf, node};
  }
  return Structure(vertices);
}

namespace {

// Vertex i is word i and reads column i.
std::vector<Structure::Vertex> vertices_of_words(std::size_t words) {
  std::vector<Structure::Vertex> vertices(words);
  for (unsigned word = 0; word < words; ++word) vertices[word].column = word;
  return vertices;
}

void check_head(std::uint32_t head, std::size_t words) {
  if (head <= words) return;
  throw UsageError("[heads] need heads of at most " + std::to_string(words) + "; got " +
                   std::to_string(head));
}

}  // namespace

Structure heads_bottom_up(std::span<const std::uint32_t> heads) {
  std::vector<Structure::Vertex> vertices = vertices_of_words(heads.size());
  for (unsigned word = 0; word < heads.size(); ++word) {
    check_head(heads[word], heads.size());
    if (heads[word] > 0) vertices[heads[word] - 1].predecessors.push_back(word);
  }
  return Structure(vertices);
}

Structure heads_top_down(std::span<const std::uint32_t> heads) {
  std::vector<Structure::Vertex> vertices = vertices_of_words(heads.size());
  for (unsigned word = 0; word < heads.size(); ++word) {
    check_head(heads[word], heads.size());
    if (heads[word] > 0) vertices[word].predecessors = {heads[word] - 1};
  }
  return Structure(vertices);
}

}  // namespace dynet_like::nn
