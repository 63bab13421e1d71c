// A batch of recursions: programs run over rows of vertices, level by level.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/exec/repeated_vertices.h"
#include "dynet_like/exec/run_state.h"
#include "dynet_like/exec/shared_contributions.h"
#include "dynet_like/exec/vertex_rows.h"

namespace dynet_like::detail {

class PassGradients;
class RecursionBackward;

/// The nodes of one batch. Keeps what its programs computed until the backward pass.
class RecursionRun {
 public:
  /// `batch` must have memory for outputs. There, each node has the first states of all its
  /// vertices, then the second ones, and so on.
  RecursionRun(RunState& run, const Batch& batch, std::span<const NodeRef> nodes);
  ~RecursionRun();

  void forward();
  /// Gives back memory that only a backward pass would read.
  void give_back();
  /// Must be called when the nodes have received all gradients from outside. `nodes` are those that
  /// still exist.
  void backward(PassGradients& gradients, std::span<const NodeRef> nodes);
  /// The contributions of a node to its shared inputs, after `backward`.
  void contribute(NodeRef node, SharedContributions& to) const;
  /// The backward pass, once it has run.
  const RecursionBackward& passed() const { return *backward_; }
  /// The number of inputs that vertices read column by column; the shared inputs come after them.
  std::size_t columns() const { return op_.column_sizes.size(); }

 private:
  friend class RecursionBackward;

  /// A step of a program for all rows of a kind: each row has `members` adjacent items.
  struct Step {
    Rows rows;
    std::size_t members = 0;
    /// Its outputs are read only within the same level, so the next level overwrites them.
    bool of_level = false;

    std::size_t item(std::size_t row, std::size_t position) const {
      return row * members + position;
    }
  };

  /// The index of the node in the batch: outputs of nodes lie one behind the other.
  std::size_t index_of(NodeRef node) const;
  std::vector<ColumnSource> sources_of_columns() const;
  ColumnSource source_of(NodeRef node, const Value& input, std::size_t size) const;
  VertexRows make_rows() const;
  void find_arguments();
  const std::byte* place_of(NodeRef node, const Value& input) const;
  /// Copies the states of repeated vertices to their nodes.
  void copy_repeated() const;
  void allocate(std::size_t kind);
  /// The places of the parts of a step's outputs, or of their gradients: states are in those of the
  /// nodes, all other parts in the block. Null if all are in the block.
  void** list_parts(std::size_t kind, std::size_t s, std::byte* block,
                    std::span<std::byte* const> nodes, Arena& lists) const;
  void list_inputs(std::size_t kind);
  const void** list_items(std::size_t kind, const Program::Step& of, unsigned j);
  void list_columns(const VertexRows::Kind& kind, const Program::Port& port, const void** items,
                    std::size_t step) const;
  void list_states(const VertexRows::Kind& kind, const Program::Port& port, const void** items,
                   std::size_t step) const;
  void list_numbers(std::size_t kind, std::size_t s);

  bool has_early_products(std::size_t kind, const Program::Step& of) const;
  void run_early_products();
  void run_steps(std::size_t kind, RowRange rows, bool hoisted);
  /// For detect_anomaly: checks the outputs of these rows of a step, or the gradients of outputs.
  /// They lie in a block or in parts.
  void check_finite(std::size_t kind, std::size_t s, RowRange rows, const std::byte* block,
                    void* const* parts, const char* what) const;

  /// The place of a vertex's state in the output of its node, or in the gradient of that.
  std::byte* state_in(std::byte* node, const VertexRows::Row& row, std::uint32_t state) const;

  RunState& run_;
  const NodeType& type_;
  const RecursionOp& op_;
  std::size_t element_;
  std::vector<NodeRef> nodes_;
  std::vector<ColumnSource> columns_;  ///< by node and input
  VertexRows rows_;
  std::vector<std::byte*> out_;                    ///< by node
  std::vector<SharedArgument> arguments_;          ///< by shared input
  std::vector<const std::byte*> argument_values_;  ///< by shared input: its place
  std::vector<std::vector<Step>> steps_;           ///< by kind
  std::vector<std::pair<std::byte*, std::size_t>> blocks_, early_blocks_;
  Arena lists_;  ///< lists of one call
  std::unique_ptr<RecursionBackward> backward_;
};

}  // namespace dynet_like::detail
