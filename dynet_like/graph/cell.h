// cell(f): a function of expressions whose nodes belong together.
#pragma once

#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like {

namespace detail::cell_arguments {

/// Whether values of this type can know a graph.
template <class T>
constexpr bool has_graph() {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_base_of_v<ComputationGraph, Plain>) {
    return !std::is_const_v<std::remove_reference_t<T>>;
  } else if constexpr (std::is_base_of_v<Expression, Plain> ||
                       std::is_base_of_v<CellState, Plain>) {
    return true;
  } else if constexpr (std::is_convertible_v<T, ComputationGraph*>) {
    return !std::is_null_pointer_v<Plain>;
  } else if constexpr (std::ranges::forward_range<T>) {
    using Element = std::ranges::range_reference_t<T>;
    if constexpr (!std::is_same_v<std::remove_cvref_t<Element>, Plain>) return has_graph<Element>();
  }
  return false;
}

/// The graph that an argument knows; null if it knows none, such as an empty vector.
template <class T>
ComputationGraph* graph_of(T& argument) {
  if constexpr (!has_graph<T&>()) {
    return nullptr;
  } else if constexpr (std::is_base_of_v<ComputationGraph, T>) {
    return &argument;
  } else if constexpr (std::is_base_of_v<Expression, std::remove_const_t<T>>) {
    return argument.slot == nullptr ? nullptr : &argument.graph("cell");
  } else if constexpr (std::is_base_of_v<CellState, std::remove_const_t<T>>) {
    ComputationGraph* const graph = graph_of(argument.h);
    return graph != nullptr ? graph : graph_of(argument.c);
  } else if constexpr (std::is_convertible_v<T&, ComputationGraph*>) {
    return argument;
  } else {
    for (auto&& element : argument) {
      if (ComputationGraph* const graph = graph_of(element)) return graph;
    }
    return nullptr;
  }
}

/// What is recorded while this lives is declared to be a cell.
class Scope {
 public:
  /// Throws UsageError unless there is a graph.
  Scope(ComputationGraph* graph, std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  detail::Tape& tape_;
};

}  // namespace detail::cell_arguments

/// What `cell` makes. Calling it does not change it: threads may call one for graphs of their own.
template <class F>
class CellFunction {
 public:
  CellFunction(F function, std::string name)
      : function_(std::move(function)), name_(std::move(name)) {}

  /// What the function returns. One of the arguments must know the graph: a graph, an Expression, a
  /// CellState, or a range of these. Throws UsageError if all of them are empty.
  template <class... Arguments>
  requires std::is_invocable_v<const F&, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) const {
    static_assert((detail::cell_arguments::has_graph<Arguments&>() || ...),
                  "a cell needs an argument that knows its graph: a ComputationGraph&, an "
                  "Expression, a CellState, or a range of these");
    ComputationGraph* graph = nullptr;
    ((graph = graph != nullptr ? graph : detail::cell_arguments::graph_of(arguments)), ...);
    const detail::cell_arguments::Scope scope(graph, name_);
    return std::invoke(function_, std::forward<Arguments>(arguments)...);
  }

 private:
  F function_;
  std::string name_;
};

/// A function of expressions, integers and numbers that records a part of a graph which belongs
/// together, such as a node of a tree. What a call records is planned and run as one node, from the
/// first call on, with the same bits as without. Reports call it by the name. A cell inside another
/// is a part of that. The function must be callable as const. See docs/cells.md.
template <class F>
requires(!detail::cell_arguments::has_graph<F&>())
    CellFunction<std::decay_t<F>> cell(F&& function, std::string name = "cell") {
  return {std::forward<F>(function), std::move(name)};
}

}  // namespace dynet_like
