// A function of one vertex, applied along the structure of a whole sample as one node.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/graph/structure.h"

namespace dynet_like {

/// How a type of states is made of expressions. A type of one's own specialises it.
template <class State>
struct StateParts;

template <>
struct StateParts<Expression> {
  static constexpr std::size_t count = 1;
  static std::array<Expression, 1> split(const Expression& state) { return {state}; }
  static Expression join(const std::array<Expression, 1>& parts) { return parts[0]; }
};
template <>
struct StateParts<CellState> {
  static constexpr std::size_t count = 2;
  static std::array<Expression, 2> split(const CellState& state) { return {state.h, state.c}; }
  static CellState join(const std::array<Expression, 2>& parts) { return {parts[0], parts[1]}; }
};
template <std::size_t n>
struct StateParts<std::array<Expression, n>> {
  static constexpr std::size_t count = n;
  static std::array<Expression, n> split(const std::array<Expression, n>& state) { return state; }
  static std::array<Expression, n> join(const std::array<Expression, n>& parts) { return parts; }
};

namespace detail {

/// What a function of a vertex looks like to those who record it.
struct VertexFunction {
  std::string name;
  std::size_t states = 1;
  /// Of the kind, the column (empty if there is none) and the predecessors' states, one behind the
  /// other: the vertex's states.
  std::function<std::vector<Expression>(unsigned kind, const Expression& column,
                                        std::span<const Expression> before)>
      record;
};

struct RecursionOp;

/// The node of a recursion.
struct RecordedStates {
  Expression node;  ///< its whole output
  std::shared_ptr<const RecursionOp> op;
  std::uint32_t size = 0;  ///< vertices

  /// Of all vertices, and of one. Throw StateError for a graph that was cleared or reverted.
  Expression all(std::size_t state) const;
  Expression one(std::size_t state, std::uint32_t vertex) const;

 private:
  Expression view(std::uint32_t offset, const Dim& dim) const;
};

/// Knows what the function does for the kinds of vertices that it has met. Threads may share it.
class RecordedFunction {
 public:
  explicit RecordedFunction(VertexFunction function);
  ~RecordedFunction();
  RecordedStates record(const Structure& structure, const Expression& columns);
  /// `columns` may be empty.
  RecordedStates record(ComputationGraph& graph, const Structure& structure,
                        const Expression& columns);

 private:
  struct Definition;
  VertexFunction function_;
  struct Definitions;
  std::unique_ptr<Definitions> definitions_;
};

}  // namespace detail

/// The states of all vertices of a sample.
template <class State>
class States {
 public:
  explicit States(const detail::RecordedStates& recorded) : recorded_(recorded) {}

  /// Every part as a matrix with a column for each vertex.
  State all() const {
    return join([&](std::size_t part) { return recorded_.all(part); });
  }
  /// Of one vertex.
  State operator[](unsigned vertex) const {
    return join([&](std::size_t part) { return recorded_.one(part, vertex); });
  }
  State last() const { return (*this)[size() - 1]; }
  unsigned size() const { return recorded_.size; }

 private:
  template <class F>
  static State join(const F& part) {
    std::array<Expression, StateParts<State>::count> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = part(i);
    return StateParts<State>::join(parts);
  }

  detail::RecordedStates recorded_;
};

/// What `recursion` makes.
template <class State>
class Recursion {
 public:
  /// Of no function; to be assigned to.
  Recursion() = default;
  explicit Recursion(detail::VertexFunction function)
      : function_(std::make_shared<detail::RecordedFunction>(std::move(function))) {}

  /// The states of all vertices; they read the columns of a matrix. Throws UsageError and
  /// ShapeError if these do not fit the structure or what the function does.
  States<State> operator()(const Structure& structure, const Expression& columns) const {
    return States<State>(function_->record(structure, columns));
  }
  /// The same for a structure without columns.
  States<State> operator()(const Structure& structure, ComputationGraph& graph) const {
    return States<State>(function_->record(graph, structure, Expression()));
  }

 private:
  std::shared_ptr<detail::RecordedFunction> function_;
};

/// A function of a vertex's column and its predecessors' states that returns the vertex's state, as
/// `State f(const Expression& column, const std::vector<State>& before)`, or with `unsigned kind`
/// as the first argument. A vertex without column gets an empty expression.
///
/// It is called a few times, for every kind and number of predecessors, and never once per vertex:
/// what it records then is what every such vertex computes. So it must not look at values, nor use
/// expressions that are not its arguments. It reads parameters as always.
template <class State, class F>
Recursion<State> recursion(F f, std::string name = "recursion") {
  using Parts = StateParts<State>;
  detail::VertexFunction function;
  function.name = std::move(name);
  function.states = Parts::count;
  function.record = [f = std::move(f)](unsigned kind, const Expression& column,
                                       std::span<const Expression> before) {
    std::vector<State> states;
    for (std::size_t i = 0; i < before.size(); i += Parts::count) {
      std::array<Expression, Parts::count> parts;
      for (std::size_t p = 0; p < parts.size(); ++p) parts[p] = before[i + p];
      states.push_back(Parts::join(parts));
    }
    const auto parts = Parts::split([&]() -> State {
      if constexpr (std::is_invocable_v<const F&, unsigned, const Expression&,
                                        const std::vector<State>&>) {
        return f(kind, column, states);
      } else {
        return f(column, states);
      }
    }());
    return std::vector<Expression>(parts.begin(), parts.end());
  };
  return Recursion<State>(std::move(function));
}

}  // namespace dynet_like
