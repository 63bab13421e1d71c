// StackState: a stack whose elements a recurrent layer has read.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

/// The stack LSTM of Dyer et al. (2015): push() takes a step of the layer from the current state,
/// and pop() returns to the state before. Copies are independent but share their common elements,
/// so a copy takes constant time and memory. Only push() computes anything, one step of the layer.
/// `Recurrent` is LSTM, GRU, Stacked, or a class with the same `State`, `step` and `output`.
template <class Recurrent>
class StackState {
 public:
  using State = typename Recurrent::State;

  /// An empty stack, with the layer in state `start`: recurrent.start(graph), or the state after a
  /// vector that stands for the empty stack. The layer must outlive all copies.
  StackState(const Recurrent& recurrent, State start)
      : recurrent_(&recurrent), top_(std::make_shared<Element>(std::move(start))) {}
  // Moving copies, so that a moved-from object still has a state.
  StackState(const StackState&) = default;
  StackState& operator=(const StackState&) = default;

  /// Shapes: x {inputs}. Throws ShapeError unless x fits.
  void push(const Expression& x) {
    top_ = std::make_shared<Element>(recurrent_->step(top_->state, x), x, top_, top_->size + 1);
  }
  /// Removes and returns the top element. Throws UsageError for an empty stack.
  Expression pop() {
    if (empty()) throw UsageError("[StackState] need an element to pop; got none");
    const Expression x = top_->x;
    top_ = std::shared_ptr<const Element>(top_->below);
    return x;
  }

  /// The layer's output after all elements of the stack. Shapes: {hidden}.
  const Expression& top() const { return Recurrent::output(top_->state); }
  const State& state() const { return top_->state; }
  std::size_t size() const { return top_->size; }
  bool empty() const { return size() == 0; }

  /// Visits the expressions that it refers to: see knows_expressions.
  void for_each_expression(auto visit) const {
    for (const Element* element = top_.get(); element != nullptr; element = element->below.get()) {
      visit(element->state);
      if (element->below != nullptr) visit(element->x);
    }
  }

 private:
  struct Element {
    explicit Element(State start) : state(std::move(start)) {}
    Element(State after, const Expression& pushed, std::shared_ptr<const Element> rest,
            std::size_t count)
        : state(std::move(after)), x(pushed), below(std::move(rest)), size(count) {}
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    // A loop, not recursion: the stack may be high, and the call stack of a sample is small.
    ~Element() {
      while (below != nullptr && below.use_count() == 1) {
        below = std::exchange(below->below, nullptr);
      }
    }

    State state;
    Expression x;
    mutable std::shared_ptr<const Element> below;
    std::size_t size = 0;
  };

  const Recurrent* recurrent_;
  std::shared_ptr<const Element> top_;
};

}  // namespace dynet_like::nn
