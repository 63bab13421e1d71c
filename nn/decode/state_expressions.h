// Finds the expressions that a state refers to.
#pragma once

#include <iterator>
#include <type_traits>
#include <utility>

#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

template <class T>
concept RangeOfParts = requires(const T& range) {
  std::begin(range) != std::end(range);
};

/// Whether it is known which expressions a state refers to. It is known for an Expression, a
/// CellState, a range of known types, and a class with a function for it:
///
///     struct State {
///       nn::StackState<nn::LSTM> stack;
///       nn::LSTM::State history;
///       unsigned words = 0;
///
///       void for_each_expression(auto visit) const { visit(stack, history); }
///     };
///
/// Numbers and enumerations refer to none.
template <class State>
constexpr bool knows_expressions() {
  if constexpr (std::is_same_v<State, Expression> || std::is_same_v<State, CellState> ||
                std::is_arithmetic_v<State> || std::is_enum_v<State>) {
    return true;
  } else if constexpr (requires(const State& s) { s.for_each_expression([](const auto&...) {}); }) {
    return true;
  } else if constexpr (RangeOfParts<State>) {
    using Element = std::remove_cvref_t<decltype(*std::begin(std::declval<const State&>()))>;
    if constexpr (!std::is_same_v<Element, State>) return knows_expressions<Element>();
  }
  return false;
}

/// Calls `visit` with every expression that the state refers to; some may come several times.
template <class State, class Visit>
void visit_expressions(const State& state, const Visit& visit) {
  static_assert(knows_expressions<State>(),
                "for_each_expression: need parts that are expressions, numbers, classes with a "
                "for_each_expression of their own, or ranges of these");
  if constexpr (std::is_same_v<State, Expression>) {
    visit(state);
  } else if constexpr (std::is_same_v<State, CellState>) {
    visit(state.h);
    visit(state.c);
  } else if constexpr (requires { state.for_each_expression([](const auto&...) {}); }) {
    state.for_each_expression(
        [&](const auto&... parts) { (visit_expressions(parts, visit), ...); });
  } else if constexpr (RangeOfParts<State>) {
    for (const auto& part : state) visit_expressions(part, visit);
  }
}
/// The same; calls nothing if they are not known.
template <class State, class Visit>
void visit_known_expressions(const State& state, const Visit& visit) {
  if constexpr (knows_expressions<State>()) visit_expressions(state, visit);
}

}  // namespace dynet_like::nn
