// Finds the expressions that a state refers to.
#pragma once

#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet_like/core/members.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

template <class T>
concept RangeOfParts = requires(const T& range) {
  std::begin(range) != std::end(range);
};

template <class State>
constexpr bool knows_expressions();

template <class... Members>
constexpr bool knows_all(std::type_identity<std::tuple<Members&...>>) {
  return (knows_expressions<std::remove_const_t<Members>>() && ...);
}

/// Whether it is known which expressions a state refers to. It is known for an Expression, a range
/// of known types, and a struct of at most 8 members of known types. Numbers and enumerations refer
/// to none. A class with private members has a function for it, which names some of them:
///
///     void for_each_expression(auto visit) const { visit(stack_, history_); }
template <class State>
constexpr bool knows_expressions() {
  if constexpr (std::is_same_v<State, Expression> || std::is_arithmetic_v<State> ||
                std::is_enum_v<State>) {
    return true;
  } else if constexpr (requires(const State& s) { s.for_each_expression([](const auto&...) {}); }) {
    return true;
  } else if constexpr (RangeOfParts<State>) {
    using Element = std::remove_cvref_t<decltype(*std::begin(std::declval<const State&>()))>;
    if constexpr (!std::is_same_v<Element, State>) return knows_expressions<Element>();
    return false;
  } else if constexpr (dynet_like::detail::ListedStruct<State>) {
    return knows_all(
        std::type_identity<decltype(dynet_like::detail::tie_members(std::declval<State&>()))>());
  }
  return false;
}

/// Calls `visit` with every expression that the state refers to; some may come several times.
template <class State, class Visit>
void visit_expressions(const State& state, const Visit& visit) {
  static_assert(knows_expressions<State>(),
                "need a state of expressions, numbers, ranges, structs of at most 8 of these, or a "
                "class with for_each_expression");
  if constexpr (std::is_same_v<State, Expression>) {
    visit(state);
  } else if constexpr (requires { state.for_each_expression([](const auto&...) {}); }) {
    state.for_each_expression(
        [&](const auto&... parts) { (visit_expressions(parts, visit), ...); });
  } else if constexpr (RangeOfParts<State>) {
    for (const auto& part : state) visit_expressions(part, visit);
  } else if constexpr (dynet_like::detail::ListedStruct<State>) {
    std::apply([&](const auto&... parts) { (visit_expressions(parts, visit), ...); },
               dynet_like::detail::tie_members(state));
  }
}
/// The same; calls nothing if they are not known.
template <class State, class Visit>
void visit_known_expressions(const State& state, const Visit& visit) {
  if constexpr (knows_expressions<State>()) visit_expressions(state, visit);
}

}  // namespace dynet_like::nn
