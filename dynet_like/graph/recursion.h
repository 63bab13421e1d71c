// A function of one vertex, applied along the structure of a whole sample as one node.
#pragma once

#include <array>
#include <functional>
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
  // To move is to copy: it never has no node.
  States(const States&) = default;
  States& operator=(const States&) = default;

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
    return run(structure, std::span(&columns, 1), {});
  }
  /// The same with several matrices, of which a function gets columns as a vector.
  States<State> operator()(const Structure& structure,
                           const std::vector<Expression>& columns) const {
    return run(structure, columns, {});
  }
  States<State> operator()(const Structure& structure, const std::vector<Expression>& columns,
                           const State& start) const {
    return run(structure, columns, StateParts<State>::split(start));
  }
  /// The same from a state: vertices without predecessors get it as that of a predecessor.
  States<State> operator()(const Structure& structure, const Expression& columns,
                           const State& start) const {
    return run(structure, std::span(&columns, 1), StateParts<State>::split(start));
  }
  /// The same for a structure without columns.
  States<State> operator()(const Structure& structure, ComputationGraph& graph) const {
    return States<State>(function().run(graph, structure, {}, {}, record_));
  }

 private:
  detail::TracedFunction& function() const {
    return detail::TracedFunction::of(function_, "recursion", record_ != nullptr);
  }
  States<State> run(const Structure& structure, std::span<const Expression> columns,
                    std::span<const Expression> start) const {
    if (columns.empty()) function().throw_without_graph();
    ComputationGraph& graph = columns[0].graph(function().name().c_str());
    return States<State>(function().run(graph, structure, columns, start, record_));
  }

  std::shared_ptr<detail::TracedFunction> function_;
  detail::TracedFunction::Record record_;
};

namespace detail {

/// How a function of a vertex is called: with its kind, and with one column or several.
template <class State, class F>
struct FormOf {
  using One = const Expression&;
  using Several = const std::vector<Expression>&;
  template <class... Arguments>
  using Takes = std::is_invocable_r<State, const F&, Arguments..., const std::vector<State>&>;

  // One by one: a function of any arguments may not compile with some.
  using WithOne = std::disjunction<Takes<unsigned, One>, Takes<One>>;
  static constexpr bool has_columns =
      std::conjunction_v<std::negation<WithOne>,
                         std::disjunction<Takes<unsigned, Several>, Takes<Several>>>;
  static constexpr bool fits = WithOne::value || has_columns;
  using Input = std::conditional_t<has_columns, Several, One>;
  static constexpr bool has_kind = Takes<unsigned, Input>::value;
  using Signature = std::conditional_t<has_kind, State(unsigned, Input, const std::vector<State>&),
                                       State(Input, const std::vector<State>&)>;
};

template <class State, class F>
TracedFunction::Record record_of(F function, const std::string& name) {
  return [function = std::move(function), name](ComputationGraph&, unsigned kind,
                                                std::span<const Expression> columns,
                                                std::span<const Expression> before) {
    using Parts = StateParts<State>;
    std::vector<State> states;
    for (std::size_t i = 0; i < before.size(); i += Parts::count) {
      std::array<Expression, Parts::count> parts;
      for (std::size_t p = 0; p < parts.size(); ++p) parts[p] = before[i + p];
      states.push_back(Parts::join(parts));
    }
    const std::vector<Expression> all(columns.begin(), columns.end());
    const auto parts = Parts::split([&] {
      using Form = FormOf<State, F>;
      if constexpr (Form::has_kind && Form::has_columns) {
        return function(kind, all, states);
      } else if constexpr (Form::has_kind) {
        return function(kind, only_column(name, all), states);
      } else if constexpr (Form::has_columns) {
        return function(all, states);
      } else {
        return function(only_column(name, all), states);
      }
    }());
    return std::vector<Expression>(parts.begin(), parts.end());
  };
}

}  // namespace detail

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
  static_assert(
      requires { StateParts<State>::count; },
      "need recursion<State> of an Expression, a CellState, a std::array of expressions, or a "
      "state that StateParts knows");
  using Form = detail::FormOf<State, F>;
  static_assert(Form::fits,
                "need a function (const Expression& column, const std::vector<State>& before) that "
                "returns a State, or one with unsigned kind as its first argument; it may change "
                "nothing of its own");
  detail::TracedFunction::Record record;
  if constexpr (Form::fits) {
    std::function<typename Form::Signature> function(std::move(f));
    if (function != nullptr) record = detail::record_of<State>(std::move(function), name);
  }
  return {std::move(name), std::move(record)};
}

}  // namespace dynet_like
