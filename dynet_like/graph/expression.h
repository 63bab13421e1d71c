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

/// A value that is computed when it is asked for. Cheap to copy. Using it after its graph was
/// cleared or destroyed, or after it was reverted, throws StateError.
class Expression {
 public:
  /// An empty expression.
  Expression() = default;
  /// A parameter, or a whole table, as an input of an operation whose other inputs have a graph. By
  /// itself it has a shape, but no graph and no value: for these use `parameter(graph, w)`.
  Expression(const Parameter& parameter);
  Expression(const LookupParameter& table);
  /// The value with this number in the graph. Throws UsageError if there is none.
  Expression(ComputationGraph* graph, std::uint32_t value);

  bool empty() const { return slot_ == nullptr; }
  /// The shape, with the minibatch dimension. The reference is valid until the graph is cleared.
  const Dim& dim() const;
  /// The value, computed if it was not yet. Its memory belongs to the graph, until the graph is
  /// cleared, reverted, computed again, or run as a part of a minibatch with
  /// GraphOptions::memory_limit. A computed value stays the same when a parameter changes, until
  /// the graph is invalidated.
  Tensor value() const;
  /// The gradient of the last backward pass, valid until the next; zeros where the pass did not go
  /// (inputs unless `full`, constants, nodes behind nobackprop). The gradient of a parameter is
  /// that of all samples. Throws StateError if there was no pass since the values were computed,
  /// and for a parameter if you passed your own Gradients to backward: look there.
  Tensor gradient() const;
  /// Names the node in error messages. Returns the same expression.
  const Expression& label(std::string name) const;
  /// Its graph. Throws StateError, with `user` in the message, if the graph was cleared or
  /// destroyed, or if there is none.
  ComputationGraph& graph(const char* user = "Expression::graph") const {
    if (pg == nullptr || is_stale()) throw_stale(user);
    return *pg;
  }
  /// Whether it is empty, or its graph was cleared or destroyed.
  bool is_stale() const { return slot_ == nullptr || !slot_->is_alive(generation_); }
  /// The name of the device that its graph runs on.
  std::string get_device_name() const;

  /// The graph (or null) and the number of the value in it, under DyNet's names.
  GraphPointer pg;
  std::uint32_t i = 0;

 private:
  friend struct detail::Handle;

  Expression(ComputationGraph* graph, std::uint32_t value, std::uint32_t made,
             const detail::HandleSlot* slot)
      : pg(graph), i(value), generation_(made), slot_(slot) {}

  [[noreturn]] void throw_stale(const char* user) const;

  std::uint32_t generation_ = 0;  ///< of the graph when this was made: see HandleSlot
  const detail::HandleSlot* slot_ = nullptr;
};

namespace detail {

/// Access to an expression's members, for the library.
struct Handle {
  static Expression of(ComputationGraph* graph, std::uint32_t value, const HandleSlot& slot) {
    return {graph, value, slot.generation.load(std::memory_order_relaxed), &slot};
  }
  /// Whether its graph was neither reverted nor cleared since; false for a parameter.
  static bool is_latest(const Expression& x) {
    return x.slot_ != nullptr &&
           x.slot_->generation.load(std::memory_order_relaxed) == x.generation_;
  }
  static bool is_of_same(const Expression& a, const Expression& b) {
    return a.slot_ == b.slot_ && a.generation_ == b.generation_;
  }
  static std::uint32_t generation(const Expression& x) { return x.generation_; }
  /// Whether it stands for a parameter that is still there.
  static bool is_parameter(const Expression& x) { return x.pg == nullptr && !x.is_stale(); }
  /// The parameter that it stands for, or null. Throws StateError if the parameter was destroyed.
  static ParameterStorage* parameter(const Expression& x);
  /// Instead of a row number: the whole table.
  static constexpr std::uint32_t kWhole = ~std::uint32_t{0};

  [[noreturn]] static void throw_reverted(const char* user);
};

}  // namespace detail

/// The operation, the shape and the label, if there is one: `tanh {256} "hidden"`. Computes
/// nothing. An expression that was cleared or reverted prints as "(cleared expression)".
std::ostream& operator<<(std::ostream& out, const Expression& x);

/// The output h and the cell c of an LSTM cell: views of one node.
struct CellState {
  Expression h, c;
};

}  // namespace dynet_like
