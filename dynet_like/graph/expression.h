// Expression: a handle on a value of a computation graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "dynet_like/core/handles.h"
#include "dynet_like/core/tensor.h"
#include "dynet_like/graph/graph_pointer.h"

namespace dynet_like {

class LookupParameter;
class Parameter;

namespace detail {
struct Handle;
}

/// A value that is computed when it is asked for. Cheap to copy. Use after its graph was cleared or
/// destroyed, or after it was reverted, throws StateError.
class Expression {
 public:
  /// An empty one.
  Expression() = default;
  /// A parameter, or a whole table, for an operation whose other inputs have a graph. By itself it
  /// has a shape but no graph and no value: `parameter(graph, w)` has.
  Expression(const Parameter& parameter);
  Expression(const LookupParameter& table);
  /// The value of a graph with this number. Throws UsageError if there is none.
  Expression(ComputationGraph* graph, std::uint32_t value);

  bool empty() const { return slot_ == nullptr; }
  /// The shape, with the minibatch dimension. The reference is valid until the graph is cleared.
  const Dim& dim() const;
  /// The value, computed if need be. It lies in the graph until the graph is cleared, reverted,
  /// computed anew, or run as a part of a minibatch with GraphOptions::memory_limit. What has been
  /// computed stays as it is when a parameter changes, until the graph is invalidated.
  Tensor value() const;
  /// The gradient in the last backward pass, until the next; zeros for what did not take part
  /// (inputs unless `full`, constants, what is behind nobackprop). A parameter's is that of all
  /// samples. Throws StateError if there was no pass since the values were computed, and for a
  /// parameter if backward was given Gradients of the caller: look there.
  Tensor gradient() const;
  /// Names the node in error messages. Returns the same expression.
  const Expression& label(std::string name) const;
  /// Its graph. Throws StateError, naming `user`, if the graph was cleared or destroyed, or if
  /// there is none.
  ComputationGraph& graph(const char* user = "Expression::graph") const {
    if (pg == nullptr || is_stale()) throw_stale(user);
    return *pg;
  }
  /// Whether its graph was cleared or destroyed, or it is empty.
  bool is_stale() const { return slot_ == nullptr || !slot_->is_alive(generation_); }
  /// The type of the device that its graph runs on.
  std::string get_device_name() const;

  /// The graph, null without one, and the number of the value in it: DyNet's names.
  GraphPointer pg;
  std::uint32_t i = 0;

 private:
  friend struct detail::Handle;

  Expression(ComputationGraph* graph, std::uint32_t value, std::uint32_t made,
             const detail::HandleSlot* slot)
      : pg(graph), i(value), generation_(made), slot_(slot) {}

  [[noreturn]] void throw_stale(const char* user) const;

  std::uint32_t generation_ = 0;  ///< grows with every revert and clear of the graph
  const detail::HandleSlot* slot_ = nullptr;
};

namespace detail {

/// What the library knows of an expression.
struct Handle {
  static Expression of(ComputationGraph* graph, std::uint32_t value, const HandleSlot& slot) {
    return {graph, value, slot.generation.load(std::memory_order_relaxed), &slot};
  }
  /// Whether nothing was reverted or cleared since it was made; of a parameter it never is.
  static bool is_latest(const Expression& x) {
    return x.slot_ != nullptr &&
           x.slot_->generation.load(std::memory_order_relaxed) == x.generation_;
  }
  static bool is_of_same(const Expression& a, const Expression& b) {
    return a.slot_ == b.slot_ && a.generation_ == b.generation_;
  }
  static std::uint32_t generation(const Expression& x) { return x.generation_; }
  /// The parameter that it stands for, or null. Throws StateError if that is gone.
  static ParameterStorage* parameter(const Expression& x);
  /// Instead of the row of a table: all of it.
  static constexpr std::uint32_t kWhole = ~std::uint32_t{0};

  [[noreturn]] static void throw_reverted(const char* user);
};

}  // namespace detail

/// The operation, the shape and the label, if there is one: `tanh {256} "hidden"`. Computes
/// nothing; of an expression that is not there any more, it says so.
std::ostream& operator<<(std::ostream& out, const Expression& x);

/// The output h and the cell c of an LSTM cell: views of one node.
struct CellState {
  Expression h, c;
};

}  // namespace dynet_like
