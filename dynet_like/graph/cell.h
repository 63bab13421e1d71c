// cell(f): a function of expressions as one node.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/graph/traced_function.h"

namespace dynet_like {

namespace detail::cell_arguments {

template <class T>
concept Graph = std::same_as<T, ComputationGraph>;
template <class T>
concept State = requires {
  StateParts<T>::count;
};
template <class T>
using Element = std::remove_cvref_t<decltype(*std::begin(std::declval<const T&>()))>;
template <class T>
concept Range = !State<T> && requires(const T& range) {
  std::size(range);
  requires State<Element<T>>;
};
/// Part of the key: the function may do something else for each number.
template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class T>
struct Argument {
  static_assert(Graph<T> || State<T> || Range<T> || Number<T>,
                "a cell takes a ComputationGraph&, expressions, structs of at most 8 expressions, "
                "ranges of these, integers and numbers");
};

/// For each type of argument: what the function receives for it, the expressions in it, and key
/// words that tell calls apart where shapes do not.
template <Graph T>
struct Argument<T> {
  using Given = ComputationGraph&;
  static ComputationGraph* graph_of(T& graph) { return &graph; }
  static void collect(T&, std::vector<Expression>&) {}
  static void add_key(T&, std::vector<std::uint64_t>&) {}
  static Given rebuild(T&, ComputationGraph& graph, std::span<const Expression>&) { return graph; }
};

template <State T>
struct Argument<T> {
  using Given = T;
  using Parts = StateParts<T>;
  static ComputationGraph* graph_of(const T& state) {
    for (const Expression& part : Parts::split(state)) {
      if (part.pg != nullptr) return &part.graph("cell");
    }
    return nullptr;
  }
  static void collect(const T& state, std::vector<Expression>& all) {
    for (const Expression& part : Parts::split(state)) {
      if (!part.empty()) all.push_back(part);
    }
  }
  /// Whether a part is empty belongs to the key.
  static void add_key(const T& state, std::vector<std::uint64_t>& key) {
    for (const Expression& part : Parts::split(state)) key.push_back(!part.empty());
  }
  static T rebuild(const T& state, ComputationGraph&, std::span<const Expression>& rest) {
    std::array<Expression, Parts::count> parts = Parts::split(state);
    for (Expression& part : parts) {
      if (part.empty()) continue;
      part = rest[0];
      rest = rest.subspan(1);
    }
    return Parts::join(parts);
  }
};

template <Range T>
struct Argument<T> {
  using Given = std::vector<Element<T>>;
  using OfElement = Argument<Element<T>>;
  static ComputationGraph* graph_of(const T& range) {
    for (const auto& element : range) {
      if (ComputationGraph* const graph = OfElement::graph_of(element)) return graph;
    }
    return nullptr;
  }
  static void collect(const T& range, std::vector<Expression>& all) {
    for (const auto& element : range) OfElement::collect(element, all);
  }
  static void add_key(const T& range, std::vector<std::uint64_t>& key) {
    key.push_back(std::size(range));
    for (const auto& element : range) OfElement::add_key(element, key);
  }
  static Given rebuild(const T& range, ComputationGraph& graph, std::span<const Expression>& rest) {
    Given given;
    for (const auto& element : range) given.push_back(OfElement::rebuild(element, graph, rest));
    return given;
  }
};

template <Number T>
struct Argument<T> {
  using Given = T;
  static ComputationGraph* graph_of(const T&) { return nullptr; }
  static void collect(const T&, std::vector<Expression>&) {}
  static void add_key(const T& number, std::vector<std::uint64_t>& key) {
    if constexpr (std::is_floating_point_v<T>) {
      key.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(number)));
    } else {
      key.push_back(static_cast<std::uint64_t>(number));
    }
  }
  static T rebuild(const T& number, ComputationGraph&, std::span<const Expression>&) {
    return number;
  }
};

template <class T>
using ArgumentOf = Argument<std::remove_cvref_t<T>>;

}  // namespace detail::cell_arguments

template <class Signature>
class CellFunction;

/// What `cell` returns. Copies are the same cell. Several threads may call one cell, each for its
/// own graphs.
template <class Result, class... Parameters>
class CellFunction<Result(Parameters...)> {
  static_assert(
      detail::cell_arguments::State<Result>,
      "a cell returns an Expression, a CellState, a std::array of expressions, or a struct of at "
      "most 8 expressions");

 public:
  using Function = std::function<Result(Parameters...)>;

  /// Without a function: assign a cell to it before calling it.
  CellFunction() = default;
  explicit CellFunction(Function function, std::string name = "cell")
      : function_(std::move(function)),
        traced_(std::make_shared<detail::TracedFunction>(std::move(name))) {}

  /// Records the function as one node and returns its result. Throws UsageError if no argument has
  /// a graph.
  Result operator()(Parameters... arguments) const {
    using namespace detail::cell_arguments;
    detail::TracedFunction& traced =
        detail::TracedFunction::of(traced_, "cell", function_ != nullptr);
    ComputationGraph* graph = nullptr;
    ((graph = graph != nullptr ? graph : ArgumentOf<Parameters>::graph_of(arguments)), ...);
    if (graph == nullptr) traced.throw_without_graph();
    // A cell inside another becomes a part of it.
    if (graph->record().records_a_function())
      return function_(std::forward<Parameters>(arguments)...);

    std::vector<Expression> all;
    (ArgumentOf<Parameters>::collect(arguments, all), ...);
    std::vector<std::uint64_t> key;
    (ArgumentOf<Parameters>::add_key(arguments, key), ...);
    const auto record = [&](ComputationGraph& recording, unsigned, std::span<const Expression> rest,
                            std::span<const Expression>) {
      std::tuple<typename ArgumentOf<Parameters>::Given...> given{
          ArgumentOf<Parameters>::rebuild(arguments, recording, rest)...};
      const auto parts = StateParts<Result>::split(std::apply(function_, std::move(given)));
      return std::vector<Expression>(parts.begin(), parts.end());
    };
    const detail::RecordedStates states = traced.call(*graph, all, key, std::ref(record));
    std::array<Expression, StateParts<Result>::count> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = states.one(i, 0);
    return StateParts<Result>::join(parts);
  }

 private:
  Function function_;
  std::shared_ptr<detail::TracedFunction> traced_;
};

/// A function of expressions that is recorded, planned and run as one node, forward and backward.
///
/// It takes expressions, states such as CellState, ranges of these, integers, numbers and a
/// ComputationGraph&, and returns an expression or a struct of expressions. Your function is
/// called once for each combination of argument shapes, integers and numbers, not once per call of
/// the cell: all calls with the same combination compute what it recorded then. So it must not look
/// at values, nor use expressions other than its arguments. It may read parameters as usual. A cell
/// called inside another becomes a part of it. Make the cell once, beside the parameters that it
/// reads: nodes of one cell run together. Reports show it under `name`. See docs/recursions.md.
template <class F>
auto cell(F function, std::string name = "cell") {
  static_assert(
      requires { std::function(function); },
      "need a function whose arguments have types, as in "
      "cell([](const Expression& x, unsigned kind) { ... }), and are not auto");
  return [&]<class Signature>(std::function<Signature> of_any_type) {
    return CellFunction<Signature>(std::move(of_any_type), std::move(name));
  }(std::function(std::move(function)));
}

}  // namespace dynet_like
