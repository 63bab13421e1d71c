// Expression: a handle on a value of a computation graph.
#pragma once

#include <cstdint>
#include <string>

#include "dynet_like/core/tensor.h"
#include "dynet_like/graph/handles.h"

namespace dynet_like {

class ComputationGraph;

/// A value that is computed when it is asked for. Cheap to copy. Use after its graph was cleared or
/// destroyed, or after it was reverted, throws UsageError. `pg` is its graph; the other members are
/// the library's.
struct Expression {
  ComputationGraph* pg = nullptr;
  std::uint32_t i = 0;

  /// When it was made: grows with every revert and clear of the graph.
  std::uint32_t generation = 0;
  const HandleSlot* slot = nullptr;

  Expression() = default;
  Expression(ComputationGraph* graph, std::uint32_t value, std::uint32_t made,
             const HandleSlot* place)
      : pg(graph), i(value), generation(made), slot(place) {}
  /// The value of a graph with this number. Throws UsageError if there is none.
  Expression(ComputationGraph* graph, std::uint32_t value);

  /// The shape, with the minibatch dimension.
  Dim dim() const;
  /// The value, computed if need be. It lies in the graph until the graph is cleared, reverted,
  /// computed anew, or run as a part of a minibatch with GraphOptions::memory_limit.
  Tensor value() const;
  /// The gradient in the last backward pass, until the next; zeros for what did not take part
  /// (inputs unless `full`, constants, what is behind nobackprop). A parameter's is that of all
  /// samples; throws UsageError for it if backward was given Gradients of the caller: look there.
  Tensor gradient() const;
  /// Names the node in error messages. Returns the same expression.
  const Expression& label(std::string name) const;

  bool is_stale() const { return slot == nullptr || !slot->is_alive(generation); }
  /// Whether nothing was reverted or cleared since it was made.
  bool is_latest() const {
    return slot != nullptr && slot->generation.load(std::memory_order_relaxed) == generation;
  }
  /// The graph. Throws UsageError, naming `user`, if it is not there any more.
  ComputationGraph& graph(const char* user) const {
    if (is_stale()) throw_stale(user);
    return *pg;
  }

  [[noreturn]] static void throw_reverted(const char* user);

 private:
  [[noreturn]] void throw_stale(const char* user) const;
};

/// The output h and the cell c of an LSTM cell: views of one node.
struct CellState {
  Expression h, c;
};

}  // namespace dynet_like
