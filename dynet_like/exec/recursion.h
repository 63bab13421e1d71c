// A batch of recursions: programs run over rows of vertices, level by level.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dynet_like/exec/gradient_plan.h"
#include "dynet_like/exec/repeated_vertices.h"
#include "dynet_like/exec/shared_contributions.h"
#include "dynet_like/exec/vertex_rows.h"
#include "dynet_like/exec/waiting_addends.h"

namespace dynet_like::detail {

/// What its programs read and computed, kept until the backward pass. There, each node's output has
/// the first states of all its vertices, then the second ones, and so on.
struct RecursionBatch {
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
  /// The contributions of rows of a step to a shared argument.
  struct ArgumentReader {
    SharedContributions::OfItem of;
    const SharedArgument* argument = nullptr;
    const Step* step = nullptr;
    std::size_t position = 0;  ///< index of the member in the step
    ItemPlaces from = {};
    const Operand* factor = nullptr;  ///< of outer products
  };
  /// What a backward pass leaves to be added to other gradients.
  struct Contributions {
    std::vector<bool> is_wanted;  ///< by node; if not wanted, its gradient is zeros
    /// By vertex of all samples, if some may be repeated: see owner().
    std::vector<VertexRows::Row> owners;
    std::vector<std::vector<ArgumentReader>> readers;        ///< by kind, in recording order
    std::vector<std::vector<WaitingAddend>> column_addends;  ///< by node and input, to be added
    Arena parts{};  ///< lists of the places of outputs' gradients
  };

  RecursionBatch(const NodeType& its_type, std::span<const NodeRef> its_nodes)
      : type(its_type),
        op(recursion_of(its_type.signature)),
        element(size_of(op.dtype)),
        nodes(its_nodes.begin(), its_nodes.end()) {}

  /// The number of inputs that vertices read column by column; the shared inputs come after them.
  std::size_t column_inputs() const { return op.column_sizes.size(); }
  /// The index of a node by the place of its output: outputs lie one behind the other.
  std::size_t index_of(const std::byte* output) const;
  /// The place of a vertex's state in the output of its node, or in the gradient of that.
  std::byte* state_in(std::byte* node, const VertexRows::Row& row, std::uint32_t state) const;
  /// The places of the parts of a step's outputs, or of their gradients: states are in those of the
  /// nodes, all other parts in the block. Null if all are in the block.
  void** list_parts(std::size_t kind, std::size_t s, std::byte* block,
                    std::span<std::byte* const> of_nodes, Arena& lists) const;
  /// A vertex with the value of this one, which is not repeated, in a node whose gradient is
  /// wanted. There, columns get the gradients of all these vertices. None: a sample of kNone.
  VertexRows::Row owner(const VertexRows::Row& row) const;

  const NodeType& type;
  const RecursionOp& op;
  std::size_t element;
  std::vector<NodeRef> nodes;
  std::vector<ColumnSource> columns;  ///< by node and input
  VertexRows rows;
  std::vector<std::byte*> out;                             ///< by node
  std::vector<SharedArgument> arguments;                   ///< by shared input
  std::vector<const std::byte*> argument_values;           ///< by shared input: its place
  std::vector<std::vector<Step>> steps;                    ///< by kind
  std::vector<std::pair<std::byte*, std::size_t>> blocks;  ///< memory of outputs and saved items
  Contributions contributions;
};

/// Runs the nodes of a batch, which must have memory for outputs.
std::shared_ptr<RecursionBatch> run_recursion(RunState& run, const Batch& batch,
                                              std::span<const NodeRef> nodes);
/// Rows of a step of a kind.
struct StepRows {
  std::size_t kind = 0, step = 0;
  RowRange range;
};
/// With detect_anomaly, checks the outputs of these rows, or the gradients of outputs, which lie in
/// a block or in parts.
void check_finite(const RunState& run, const RecursionBatch& of, const StepRows& rows,
                  const char* what, const std::byte* block, void* const* parts);
/// Gives back memory that only a backward pass would read.
void give_back(RunState& run, RecursionBatch& recursion);
/// Runs levels in reverse. Must be called when the nodes have received all gradients from outside.
/// `nodes` are those that still exist.
void differentiate(RunState& run, RecursionBatch& recursion, const PassGradients& gradients,
                   std::span<const NodeRef> nodes);
/// The contributions of a node to its shared inputs, after the pass.
void contribute(const RecursionBatch& recursion, std::size_t node, SharedContributions& to);

}  // namespace dynet_like::detail
