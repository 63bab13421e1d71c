// recursion(f): applies a function to every vertex of a structure, as one node.
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
  // Moving copies, so that a moved-from object still has its node.
  States(const States&) = default;
  States& operator=(const States&) = default;

  /// Every part as a matrix with a column for each vertex.
  State all() const {
    return join([&](std::size_t part) { return recorded_.all(part); });
  }
  /// The state of one vertex.
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

/// What `recursion` returns.
template <class State>
class Recursion {
 public:
  /// Without a function: assign a recursion to it before calling it.
  Recursion() = default;
  Recursion(std::string name, detail::TracedFunction::Record record)
      : function_(std::make_shared<detail::TracedFunction>(std::move(name))),
        record_(std::move(record)) {}

  /// The states of all vertices, which read the columns of a matrix. Throws UsageError or
  /// ShapeError if the columns do not fit the structure or the function.
  States<State> operator()(const Structure& structure, const Expression& columns) const {
    return run(structure, std::span(&columns, 1), {});
  }
  /// The same with several matrices: the function gets a vector with a column of each.
  States<State> operator()(const Structure& structure,
                           const std::vector<Expression>& columns) const {
    return run(structure, columns, {});
  }
  States<State> operator()(const Structure& structure, const std::vector<Expression>& columns,
                           const State& start) const {
    return run(structure, columns, StateParts<State>::split(start));
  }
  /// The same with an initial state: vertices without predecessors read `start`.
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

/// The signature of a user's function: with the kind of the vertex or without, with one column or
/// several.
template <class State, class F>
struct FormOf {
  using One = const Expression&;
  using Several = const std::vector<Expression>&;
  template <class... Arguments>
  using Takes = std::is_invocable_r<State, const F&, Arguments..., const std::vector<State>&>;

  // Tested one by one: a generic function may fail to compile with some arguments.
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

/// Makes a recursion from `State f(const Expression& column, const std::vector<State>& before)`,
/// which computes the state of a vertex from its column and the states of its predecessors. `f` may
/// have `unsigned kind` as an additional first argument. A vertex without a column gets an empty
/// expression. For several input matrices `f` takes `const std::vector<Expression>& columns`, with
/// a column of each. If `f` leaves a part of a state empty, that part is zeros.
///
/// `f` is called once for each combination of kind, number of predecessors and shapes, not once per
/// vertex: all such vertices compute what it recorded then. So it must not look at values, nor use
/// expressions other than its arguments. It may read parameters as usual.
template <class State, class F>
Recursion<State> recursion(F f, std::string name = "recursion") {
  static_assert(
      requires { StateParts<State>::count; },
      "need recursion<State> of an Expression, a CellState, a std::array of expressions, or a "
      "struct of at most 8 expressions");
  using Form = detail::FormOf<State, F>;
  static_assert(Form::fits,
                "need a function (const Expression& column, const std::vector<State>& before) that "
                "returns a State, or one with unsigned kind as its first argument; it must "
                "not be a mutable lambda");
  detail::TracedFunction::Record record;
  if constexpr (Form::fits) {
    std::function<typename Form::Signature> function(std::move(f));
    if (function != nullptr) record = detail::record_of<State>(std::move(function), name);
  }
  return {std::move(name), std::move(record)};
}
/// The same for a member function. The recursion owns a copy of the object.
template <class State, class Class, class... Arguments>
Recursion<State> recursion(State (Class::*f)(Arguments...) const, const Class& object,
                           std::string name = "recursion") {
  return recursion<State>([f, object](Arguments... arguments) { return (object.*f)(arguments...); },
                          std::move(name));
}

}  // namespace dynet_like
