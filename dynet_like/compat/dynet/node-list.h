// The nodes of a graph, by index: ComputationGraph::nodes.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "dynet/globals.h"
#include "dynet/tensor.h"

namespace dynet_like {
class ComputationGraph;
}

namespace dynet {

using VariableIndex = unsigned;

/// What was recorded under an index. Views, such as a part of a concatenation, are nodes of their
/// own; their argument is the value that they lie in.
struct Node {
  unsigned arity() const { return static_cast<unsigned>(args.size()); }
  /// "tanh(x)" with these names of the arguments, or without names "x1", "x2" and so on.
  std::string as_string(const std::vector<std::string>& names) const;
  std::string as_dummy_string() const;

  std::string name;  ///< of the operation
  Dim dim;
  std::vector<VariableIndex> args;
  Device* device = default_device;
};

/// The nodes of a graph: a sequence of pointers, valid until the graph is cleared or reverted.
class NodeList {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Node*;
    using difference_type = std::ptrdiff_t;
    using pointer = Node**;
    using reference = Node*;

    Iterator() = default;
    Iterator(const NodeList* list, VariableIndex i) : list_(list), i_(i) {}
    Node* operator*() const { return (*list_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    Iterator operator++(int) { return {list_, i_++}; }
    bool operator==(const Iterator&) const = default;

   private:
    const NodeList* list_ = nullptr;
    VariableIndex i_ = 0;
  };

  explicit NodeList(const dynet_like::ComputationGraph& graph) : graph_(graph) {}
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  /// Throws UsageError if there is no such node.
  Node* operator[](std::size_t i) const;
  Node* at(std::size_t i) const { return (*this)[i]; }
  Node* front() const { return (*this)[0]; }
  Node* back() const { return (*this)[size() - 1]; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, static_cast<VariableIndex>(size())}; }

 private:
  friend class ComputationGraph;
  void forget() { known_.clear(); }

  const dynet_like::ComputationGraph& graph_;
  mutable std::map<std::size_t, Node> known_;  ///< nodes that a program has asked for
};

}  // namespace dynet
