// TracedFunction: a user's function that is recorded once for each kind of arguments, and applied
// as one node.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/graph/structure.h"

namespace dynet_like {

/// How a state consists of expressions. Specialise it for your own type of states, with the three
/// members of the specialisations below.
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
