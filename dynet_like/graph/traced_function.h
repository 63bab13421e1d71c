// TracedFunction: a user's function that is recorded once for each kind of arguments, and applied
// as one node.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "dynet_like/core/members.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/graph/structure.h"

namespace dynet_like {

namespace detail {

template <class T>
inline constexpr bool are_expressions = false;
template <class... Members>
inline constexpr bool are_expressions<std::tuple<Members&...>> =
    (std::same_as<std::remove_const_t<Members>, Expression> && ...);

template <class T>
concept StructOfExpressions =
    ListedStruct<T> && are_expressions<decltype(tie_members(std::declval<T&>()))>;

}  // namespace detail

/// How a state consists of expressions: for an Expression, a CellState, a std::array of
/// expressions, and your own struct of at most 8 expressions.
template <class State>
struct StateParts;

template <>
struct StateParts<Expression> {
  static constexpr std::size_t count = 1;
  static std::array<Expression, 1> split(const Expression& state) { return {state}; }
  static Expression join(const std::array<Expression, 1>& parts) { return parts[0]; }
};
template <std::size_t n>
struct StateParts<std::array<Expression, n>> {
  static constexpr std::size_t count = n;
  static std::array<Expression, n> split(const std::array<Expression, n>& state) { return state; }
  static std::array<Expression, n> join(const std::array<Expression, n>& parts) { return parts; }
};
template <detail::StructOfExpressions State>
struct StateParts<State> {
  static constexpr std::size_t count = detail::count_members<State>();
  static std::array<Expression, count> split(const State& state) {
    return std::apply([](const auto&... parts) { return std::array<Expression, count>{parts...}; },
                      detail::tie_members(state));
  }
  static State join(const std::array<Expression, count>& parts) {
    return std::apply([](const auto&... all) { return State{all...}; }, parts);
  }
};

namespace detail {

struct RecursionOp;

/// The node of one application of a function.
struct RecordedStates {
  Expression node;  ///< its whole output
  std::shared_ptr<const RecursionOp> op;
  std::uint32_t size = 0;  ///< vertices

  /// A part of the states of all vertices, and of one vertex. Throw StateError if the graph was
  /// cleared or reverted.
  Expression all(std::size_t state) const;
  Expression one(std::size_t state, std::uint32_t vertex) const;

 private:
  Expression view(std::uint32_t offset, const Dim& dim) const;
};

/// The only column, or an empty expression if there is none. Throws UsageError for more than one.
Expression only_column(const std::string& name, const std::vector<Expression>& columns);

/// The recordings of a function, one for each kind of arguments so far. Threads may share it.
class TracedFunction {
 public:
  /// Calls the user's function: from the vertex's columns and its predecessors' states, as one
  /// list, it returns the parts of the vertex's state. All expressions are of `graph`.
  using Record = std::function<std::vector<Expression>(ComputationGraph& graph, unsigned kind,
                                                       std::span<const Expression> columns,
                                                       std::span<const Expression> before)>;

  explicit TracedFunction(std::string name);
  ~TracedFunction();
  const std::string& name() const { return name_; }
  [[noreturn]] void throw_without_graph() const;
  /// The function of a handle. Throws UsageError if the handle or its function is empty.
  static TracedFunction& of(const std::shared_ptr<TracedFunction>& function, const char* what,
                            bool has_function);
  /// Whether this thread is recording such a function.
  static bool is_being_recorded();

  /// Applies the function along a structure; `columns` is empty if no vertex reads any. Vertices
  /// without predecessors get the states in `start`, if any.
  RecordedStates run(ComputationGraph& graph, const Structure& structure,
                     std::span<const Expression> columns, std::span<const Expression> start,
                     const Record& record);
  /// Applies the function once. `key` distinguishes calls whose arguments have the same shapes.
  RecordedStates call(ComputationGraph& graph, std::span<const Expression> arguments,
                      std::span<const std::uint64_t> key, const Record& record);

 private:
  struct Definition;
  struct Definitions;

  RecordedStates record(ComputationGraph& graph, const std::shared_ptr<const RecursionOp>& op,
                        std::span<const Expression> columns,
                        const std::shared_ptr<const Vertices>& vertices);

  std::string name_;
  std::unique_ptr<Definitions> definitions_;
};

}  // namespace detail

}  // namespace dynet_like
