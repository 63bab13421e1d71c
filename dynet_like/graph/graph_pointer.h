// GraphPointer: the member `pg` of an Expression, which programs written for DyNet use.
#pragma once

#include <cstddef>
#include <type_traits>

namespace dynet_like {

class ComputationGraph;

/// A class that a program derives from ComputationGraph.
template <class T>
concept DerivedGraph = std::is_base_of_v<ComputationGraph, T> &&
    !std::is_same_v<std::remove_const_t<T>, ComputationGraph>;

namespace detail {

/// Which class of graph `e.pg->` gives: the return type of the best overload. An interface with a
/// graph class of its own, such as DyNet's headers, declares an overload that takes an int.
struct ShownGraph {};
ComputationGraph* shown_graph(ShownGraph, long);

}  // namespace detail

/// A pointer to a graph. It also converts to a pointer to a class derived from ComputationGraph,
/// and throws UsageError if the graph is not of that class.
class GraphPointer {
 public:
  GraphPointer(ComputationGraph* graph = nullptr) : graph_(graph) {}

  operator ComputationGraph*() const { return graph_; }
  template <DerivedGraph Derived>
  operator Derived*() const;
  /// These throw StateError for a null pointer.
  ComputationGraph& operator*() const {
    if (graph_ == nullptr) throw_empty();
    return *graph_;
  }
  template <class Which = detail::ShownGraph, class Graph = decltype(shown_graph(Which(), 0))>
  Graph operator->() const {
    if (graph_ == nullptr) throw_empty();
    return *this;
  }

  friend bool operator==(GraphPointer a, GraphPointer b) { return a.graph_ == b.graph_; }
  friend bool operator==(GraphPointer a, std::nullptr_t) { return a.graph_ == nullptr; }
  template <class Graph>
  requires std::is_convertible_v<Graph*, const ComputationGraph*>
  friend bool operator==(GraphPointer a, Graph* b) { return a.graph_ == b; }

 private:
  [[noreturn]] static void throw_empty();

  ComputationGraph* graph_;
};

}  // namespace dynet_like
