// Expression: a handle on a value of a computation graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>

#include "dynet_like/core/tensor.h"
#include "dynet_like/graph/handles.h"

namespace dynet_like {

class ComputationGraph;

/// What a program derives from ComputationGraph.
template <class T>
concept DerivedGraph = std::is_base_of_v<ComputationGraph, T> &&
    !std::is_same_v<std::remove_const_t<T>, ComputationGraph>;

namespace detail {

/// Which class of graph `e.pg->` shows: the return type of the best overload. A layer with a class
/// of its own, such as DyNet's headers, declares one that takes an int.
struct ShownGraph {};
ComputationGraph* shown_graph(ShownGraph, long);

}  // namespace detail

/// A pointer to a graph, also as one to the class derived from ComputationGraph that the graph is.
/// Throws UsageError if it is another.
class GraphPointer {
 public:
  GraphPointer(ComputationGraph* graph = nullptr) : graph_(graph) {}

  operator ComputationGraph*() const { return graph_; }
  template <DerivedGraph Derived>
  operator Derived*() const;
  /// These throw StateError if there is none.
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

/// A value that is computed when it is asked for. Cheap to copy. Use after its graph was cleared or
/// destroyed, or after it was reverted, throws StateError. `pg` is its graph; the other members are
/// the library's.
struct Expression {
  GraphPointer pg;
  std::uint32_t i = 0;

  /// When it was made: grows with every revert and clear of the graph.
  std::uint32_t generation = 0;
  const detail::HandleSlot* slot = nullptr;

  Expression() = default;
  Expression(ComputationGraph* graph, std::uint32_t value, std::uint32_t made,
             const detail::HandleSlot* place)
      : pg(graph), i(value), generation(made), slot(place) {}
  /// The value of a graph with this number. Throws UsageError if there is none.
  Expression(ComputationGraph* graph, std::uint32_t value);

  /// The shape, with the minibatch dimension. The reference is valid until the graph is cleared.
  const Dim& dim() const;
  /// The value, computed if need be. It lies in the graph until the graph is cleared, reverted,
  /// computed anew, or run as a part of a minibatch with GraphOptions::memory_limit. What has been
  /// computed stays as it is when a parameter changes, until `forward`.
  Tensor value() const;
  /// The gradient in the last backward pass, until the next; zeros for what did not take part
  /// (inputs unless `full`, constants, what is behind nobackprop). A parameter's is that of all
  /// samples. Throws StateError if there was no pass since the values were computed, and for a
  /// parameter if backward was given Gradients of the caller: look there.
  Tensor gradient() const;
  /// Names the node in error messages. Returns the same expression.
  const Expression& label(std::string name) const;

  bool is_stale() const { return slot == nullptr || !slot->is_alive(generation); }
  /// Whether nothing was reverted or cleared since it was made.
  bool is_latest() const {
    return slot != nullptr && slot->generation.load(std::memory_order_relaxed) == generation;
  }
  /// Where the value is computed: "CPU".
  std::string get_device_name() const;

  /// The graph. Throws StateError, naming `user`, if it is not there any more.
  ComputationGraph& graph(const char* user) const {
    if (is_stale()) throw_stale(user);
    return *pg;
  }

  [[noreturn]] static void throw_reverted(const char* user);

 private:
  [[noreturn]] void throw_stale(const char* user) const;
};

/// The operation, the shape and the label, if there is one: `tanh {256} "hidden"`. Computes
/// nothing; of an expression that is not there any more, it says so.
std::ostream& operator<<(std::ostream& out, const Expression& x);

/// The output h and the cell c of an LSTM cell: views of one node.
struct CellState {
  Expression h, c;
};

}  // namespace dynet_like
