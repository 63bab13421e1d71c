// A batch of recursions: programs over rows of vertices, level by level.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/exec/run_state.h"
#include "dynet_like/exec/shared_contributions.h"
#include "dynet_like/exec/vertex_rows.h"

namespace dynet_like::detail {

class PassGradients;
class RecursionBackward;

/// The nodes of one batch. It keeps what its programs computed for the backward pass.
class RecursionRun {
 public:
  /// `batch` has its place for outputs, in which every node has all its vertices' first states,
  /// then the second, and so on.
  RecursionRun(RunState& run, const Batch& batch, std::span<const NodeRef> nodes);
  ~RecursionRun();

  void forward();
  /// Gives back what only a backward pass would read.
  void give_back();
  /// The nodes that take part have got all gradients from outside. `nodes` are those that there
  /// still are.
  void backward(PassGradients& gradients, std::span<const NodeRef> nodes);
  /// What a node contributed to its shared inputs, after `backward`.
  void contribute(NodeRef node, SharedContributions& to) const;
  /// The pass, once it has run.
  const RecursionBackward& passed() const { return *backward_; }
  /// Inputs that vertices read column by column; those that all share stand behind them.
  std::size_t columns() const { return op_.column_sizes.size(); }

 private:
  friend class RecursionBackward;

  /// A step of a program for all rows of a kind: `members` items beside each other for every row.
  struct Step {
    Rows rows;
    std::size_t members = 0;
    /// What it computes is read in its level alone, and the next level writes over it.
    bool of_level = false;

    std::size_t item(std::size_t row, std::size_t position) const {
      return row * members + position;
    }
  };

  /// Which of the nodes it is: their outputs lie one behind the other.
  std::size_t index_of(NodeRef node) const;
  void find_inputs();
  void allocate(std::size_t kind);
  /// Where the parts of a step's outputs lie, or their gradients: states in those of the nodes, all
  /// else in the block. Null if all are in the block.
  void** list_parts(std::size_t kind, std::size_t s, std::byte* block,
                    std::span<std::byte* const> nodes, Arena& lists) const;
  void list_inputs(std::size_t kind);
  const void** list_items(std::size_t kind, const Program::Step& of, unsigned j);
  void list_columns(const VertexRows::Kind& kind, const Program::Port& port, const void** items,
                    std::size_t step) const;
  void list_states(const VertexRows::Kind& kind, const Program::Port& port, const void** items,
                   std::size_t step) const;
  void list_numbers(std::size_t kind, std::size_t s);

  void run_steps(std::size_t kind, RowRange rows, bool hoisted);
  /// detect_anomaly, for what these rows of a step wrote or got: outputs, or their gradients, in a
  /// block or in parts.
  void check_finite(std::size_t kind, std::size_t s, RowRange rows, const std::byte* block,
                    void* const* parts, const char* what) const;

  /// Where a vertex's column of an input begins in it, in bytes.
  std::size_t begin_of_column(const VertexRows::Row& row, std::size_t input) const {
    if (op_.is_start(input)) return 0;
    const std::size_t column = rows_.structure(row.sample).column_of(row.vertex, input);
    return column * op_.column_sizes[input] * element_;
  }
  /// Where a state of a vertex lies in the output of its node, or in the gradient of that.
  std::byte* state_in(std::byte* node, const VertexRows::Row& row, std::uint32_t state) const;

  RunState& run_;
  const NodeType& type_;
  const RecursionOp& op_;
  std::size_t element_;
  std::vector<NodeRef> nodes_;
  VertexRows rows_;
  std::vector<std::byte*> out_;                    ///< by node
  std::vector<const std::byte*> columns_;          ///< by node and input: where it lies
  std::vector<SharedArgument> arguments_;          ///< by shared input
  std::vector<const std::byte*> argument_values_;  ///< the same: where it lies
  std::vector<std::vector<Step>> steps_;           ///< by kind
  std::vector<std::pair<std::byte*, std::size_t>> blocks_;
  Arena lists_;  ///< of one call
  std::unique_ptr<RecursionBackward> backward_;
};

}  // namespace dynet_like::detail
