// A function that is recorded once for each kind of arguments: what it recorded then is one node.
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

struct RecursionOp;

/// The node of a function that was applied.
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

/// The one that there may be; an empty expression if there is none. Throws UsageError for more.
Expression only_column(const std::string& name, const std::vector<Expression>& columns);

/// What a function does with the arguments that it has met. Threads may share it.
class TracedFunction {
 public:
  /// Of the vertex's columns and the predecessors' states, one behind the other: its states. All
  /// of them are of the graph.
  using Record = std::function<std::vector<Expression>(ComputationGraph& graph, unsigned kind,
                                                       std::span<const Expression> columns,
                                                       std::span<const Expression> before)>;

  explicit TracedFunction(std::string name);
  ~TracedFunction();
  const std::string& name() const { return name_; }
  [[noreturn]] void throw_without_graph() const;
  /// What a handle refers to. Throws UsageError if that is nothing, or an empty function.
  static TracedFunction& of(const std::shared_ptr<TracedFunction>& function, const char* what,
                            bool has_function);
  /// Whether this thread is inside a function that is recorded.
  static bool is_being_recorded();

  /// The function along a structure; `columns` is empty if no vertex reads any. Vertices without
  /// predecessors get the states of `start`, if there are any.
  RecordedStates run(ComputationGraph& graph, const Structure& structure,
                     std::span<const Expression> columns, std::span<const Expression> start,
                     const Record& record);
  /// The function once. The key tells apart what the shapes of the arguments do not.
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
