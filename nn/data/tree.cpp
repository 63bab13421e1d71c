// Builds flat trees, and computes the heights of their nodes.
#include "nn/data/tree.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn {

namespace {

void check_room(std::size_t node_count) {
  if (node_count >= Tree::kNoWord)
    throw UsageError("[Tree] need fewer than 2^32 - 1 nodes; got as many");
}

}  // namespace

std::uint32_t Tree::add_leaf(std::int32_t label, std::string_view word) {
  check_room(nodes_.size());
  const std::uint32_t number = size();
  words_.emplace_back(word);
  nodes_.push_back({.label = label,
                    .word = leaf_count() - 1,
                    .first_node = number,
                    .first_child = static_cast<std::uint32_t>(children_.size()),
                    .child_count = 0});
  return number;
}

std::uint32_t Tree::add_parent(std::int32_t label, std::uint32_t child_count) {
  check_room(nodes_.size());
  if (child_count == 0) throw UsageError("[Tree] need children of a parent; got 0");
  // A subtree ends just before the first node of the subtree to its right.
  const std::uint32_t number = size();
  const std::size_t first_child = children_.size();
  std::uint32_t end = number;
  for (std::uint32_t i = 0; i < child_count; ++i) {
    if (end == 0) {
      children_.resize(first_child);
      throw UsageError("[Tree] need " + detail::counted(child_count, "subtree") +
                       " for a parent; got " + std::to_string(i));
    }
    children_.push_back(end - 1);
    end = nodes_[end - 1].first_node;
  }
  std::reverse(children_.begin() + static_cast<std::ptrdiff_t>(first_child), children_.end());
  nodes_.push_back({.label = label,
                    .word = kNoWord,
                    .first_node = end,
                    .first_child = static_cast<std::uint32_t>(first_child),
                    .child_count = child_count});
  return number;
}

std::vector<std::uint32_t> Tree::labels() const {
  std::vector<std::uint32_t> labels;
  for (const Node& node : nodes_) {
    if (node.label < 0) {
      throw UsageError("[Tree] need a label at every node; got none at node " +
                       std::to_string(labels.size()));
    }
    labels.push_back(static_cast<std::uint32_t>(node.label));
  }
  return labels;
}

void Tree::reserve(std::size_t node_count, std::size_t leaf_count) {
  nodes_.reserve(node_count);
  children_.reserve(node_count);
  words_.reserve(leaf_count);
}

std::vector<std::uint32_t> Tree::heights() const {
  std::vector<std::uint32_t> heights(nodes_.size(), 1);
  for (std::uint32_t node = 0; node < size(); ++node) {
    for (const std::uint32_t child : children(node)) {
      heights[node] = std::max(heights[node], heights[child] + 1);
    }
  }
  return heights;
}

void Tree::throw_empty() { throw UsageError("[Tree] need nodes for a root; got none"); }

void Tree::throw_no_node(std::uint32_t node) const {
  throw UsageError("[Tree] need a node below " + std::to_string(size()) + "; got " +
                   detail::index_text(node));
}

void Tree::throw_not(bool leaf, std::uint32_t node) {
  throw UsageError((leaf ? "[Tree] need a leaf for a word; got the parent "
                         : "[Tree] need a parent for a child; got the leaf ") +
                   std::to_string(node));
}

std::uint32_t Tree::depth() const { return nodes_.empty() ? 0 : heights().back(); }

}  // namespace dynet_like::nn
