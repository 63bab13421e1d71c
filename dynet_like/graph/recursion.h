// A function of one vertex, applied along the structure of a whole sample as one node.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/graph/traced_function.h"

namespace dynet_like {

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
  Recursion(std::string name, detail::TracedFunction::Record record)
      : function_(std::make_shared<detail::TracedFunction>(std::move(name))),
        record_(std::move(record)) {}

  /// The states of all vertices; they read the columns of a matrix. Throws UsageError and
  /// ShapeError if these do not fit the structure or what the function does.
  States<State> operator()(const Structure& structure, const Expression& columns) const {
    return States<State>(function_->run(columns.graph(function_->name().c_str()), structure,
                                        std::span(&columns, 1), {}, record_));
  }
  /// The same with several matrices, of which a function gets columns as a vector.
  States<State> operator()(const Structure& structure,
                           const std::vector<Expression>& columns) const {
    return along(structure, columns, {});
  }
  States<State> operator()(const Structure& structure, const std::vector<Expression>& columns,
                           const State& start) const {
    return along(structure, columns, StateParts<State>::split(start));
  }
  /// The same from a state: vertices without predecessors get it as that of a predecessor.
  States<State> operator()(const Structure& structure, const Expression& columns,
                           const State& start) const {
    return States<State>(function_->run(columns.graph(function_->name().c_str()), structure,
                                        std::span(&columns, 1), StateParts<State>::split(start),
                                        record_));
  }
  /// The same for a structure without columns.
  States<State> operator()(const Structure& structure, ComputationGraph& graph) const {
    return States<State>(function_->run(graph, structure, {}, {}, record_));
  }

 private:
  States<State> along(const Structure& structure, const std::vector<Expression>& columns,
                      std::span<const Expression> start) const {
    if (columns.empty()) function_->throw_without_graph();
    return States<State>(function_->run(columns[0].graph(function_->name().c_str()), structure,
                                        columns, start, record_));
  }

  std::shared_ptr<detail::TracedFunction> function_;
  detail::TracedFunction::Record record_;
};

/// A function of a vertex's column and its predecessors' states that returns the vertex's state, as
/// `State f(const Expression& column, const std::vector<State>& before)`, or with `unsigned kind`
/// as the first argument. A vertex without column gets an empty expression. With several input
/// matrices, `const std::vector<Expression>& columns` has one of each. A part of a state that the
/// function leaves empty is zeros.
///
/// It is called a few times, for every kind and number of predecessors, and never once per vertex:
/// what it records then is what every such vertex computes. So it must not look at values, nor use
/// expressions that are not its arguments. It reads parameters as always.
template <class State, class F>
Recursion<State> recursion(F f, std::string name = "recursion") {
  using Parts = StateParts<State>;
  return {name, [f = std::move(f), name](ComputationGraph&, unsigned kind,
                                         std::span<const Expression> columns,
                                         std::span<const Expression> before) {
            std::vector<State> states;
            for (std::size_t i = 0; i < before.size(); i += Parts::count) {
              std::array<Expression, Parts::count> parts;
              for (std::size_t p = 0; p < parts.size(); ++p) parts[p] = before[i + p];
              states.push_back(Parts::join(parts));
            }
            const std::vector<Expression> all(columns.begin(), columns.end());
            const auto parts = Parts::split([&]() -> State {
              using Before = const std::vector<State>&;
              using Columns = const std::vector<Expression>&;
              if constexpr (std::is_invocable_v<const F&, unsigned, const Expression&, Before>) {
                return f(kind, detail::only_column(name, all), states);
              } else if constexpr (std::is_invocable_v<const F&, unsigned, Columns, Before>) {
                return f(kind, all, states);
              } else if constexpr (std::is_invocable_v<const F&, const Expression&, Before>) {
                return f(detail::only_column(name, all), states);
              } else {
                return f(all, states);
              }
            }());
            return std::vector<Expression>(parts.begin(), parts.end());
          }};
}

}  // namespace dynet_like
