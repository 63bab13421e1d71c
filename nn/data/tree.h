// A labelled tree over words, stored flat, with children before parents: no walk needs recursion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::nn {

/// A labelled tree in post-order: a loop over the nodes from 0 to size() - 1 visits children before
/// their parents, and the root last. It is built in this order, too. A binary tree with L leaves
/// has 2 * L - 1 nodes.
class Tree {
 public:
  /// The label of a node without one.
  static constexpr std::int32_t kNoLabel = -1;
  /// The word of a node that is not a leaf.
  static constexpr std::uint32_t kNoWord = ~std::uint32_t{0};

  struct Node {
    std::int32_t label = kNoLabel;
    /// Index of the leaf's word in words().
    std::uint32_t word = kNoWord;
    /// The first node of the subtree, which consists of the nodes from first_node to this one.
    std::uint32_t first_node = 0;
    /// Where the numbers of the children begin in the list of all nodes' children.
    std::uint32_t first_child = 0, child_count = 0;

    bool operator==(const Node&) const = default;
  };

  /// Appends a leaf and returns its number. Throws UsageError past 2^32 - 2 nodes.
  std::uint32_t add_leaf(std::int32_t label, std::string_view word);
  /// Appends the parent of the last `child_count` subtrees without a parent, and returns its
  /// number. Throws UsageError if there are fewer, or if child_count is 0.
  std::uint32_t add_parent(std::int32_t label, std::uint32_t child_count);
  /// Gives a node another label. Like all functions with a node, throws UsageError if there is no
  /// such node.
  void set_label(std::uint32_t node, std::int32_t label) {
    check(node);
    nodes_[node].label = label;
  }
  void reserve(std::size_t node_count, std::size_t leaf_count);

  /// The nodes in post-order.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// The words of the leaves from left to right.
  const std::vector<std::string>& words() const { return words_; }
  /// The number of nodes, leaves included.
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::uint32_t leaf_count() const { return static_cast<std::uint32_t>(words_.size()); }
  /// The last node. Throws UsageError for an empty tree.
  std::uint32_t root() const {
    if (nodes_.empty()) throw_empty();
    return size() - 1;
  }

  std::int32_t label(std::uint32_t node) const { return at(node).label; }
  /// The labels of all nodes, in their order. Throws UsageError if a node has none.
  std::vector<std::uint32_t> labels() const;
  bool is_leaf(std::uint32_t node) const { return at(node).child_count == 0; }
  /// The word of a leaf. Throws UsageError for a node that is not a leaf.
  const std::string& word(std::uint32_t leaf) const {
    check(leaf, true);
    return words_[nodes_[leaf].word];
  }
  /// The children of a node from left to right.
  std::span<const std::uint32_t> children(std::uint32_t node) const {
    return std::span(children_).subspan(at(node).first_child, at(node).child_count);
  }
  /// The first and the last child of a node. They throw UsageError for a leaf.
  std::uint32_t left(std::uint32_t node) const {
    check(node, false);
    return children_[nodes_[node].first_child];
  }
  std::uint32_t right(std::uint32_t node) const {
    check(node, false);
    return node - 1;
  }

  /// For every node, the number of nodes on the longest path down to a leaf: a leaf has height 1.
  /// All nodes of one height can be computed together.
  std::vector<std::uint32_t> heights() const;
  /// The height of the root, which is the tree's depth; 0 for an empty tree.
  std::uint32_t depth() const;

  bool operator==(const Tree&) const = default;

 private:
  const Node& at(std::uint32_t node) const {
    check(node);
    return nodes_[node];
  }
  void check(std::uint32_t node) const {
    if (node >= nodes_.size()) throw_no_node(node);
  }
  void check(std::uint32_t node, bool leaf) const {
    if (is_leaf(node) != leaf) throw_not(leaf, node);
  }
  [[noreturn]] static void throw_empty();
  [[noreturn]] void throw_no_node(std::uint32_t node) const;
  [[noreturn]] static void throw_not(bool leaf, std::uint32_t node);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> children_;
  std::vector<std::string> words_;
};

}  // namespace dynet_like::nn
