// What is known of the run of some tapes: values, batches and shared values, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/queue.h"
#include "dynet_like/device/packed_matrices.h"
#include "dynet_like/exec/block_pool.h"
#include "dynet_like/exec/cell_dictionary.h"
#include "dynet_like/exec/cell_reasons.h"
#include "dynet_like/exec/options.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A node of one of the tapes. In the list of a batch, a node that was reverted is kNone, and
/// `tape` its number of items.
struct NodeRef {
  std::uint32_t tape = 0;
  NodeId node = 0;

  bool operator==(const NodeRef&) const = default;
};

/// Where the value of a node lies (null: not computed), and which batch made it.
struct NodeState {
  std::byte* value = nullptr;
  std::uint32_t batch = kNone;
  std::uint32_t plan_index = kNone;  ///< while it is being planned; kNeeded before that
};

/// Nodes that ran in one kernel call, or in a call for them and others. Outputs lie `stride` bytes
/// apart from `out` on, and end after `out_bytes`.
struct Batch {
  TypeId type = 0;
  std::uint32_t first_member = 0, members = 0, items = 0;
  std::uint32_t left = 0;         ///< members that have not been reverted or forgotten
  std::uint32_t search_from = 0;  ///< where a member is looked for first
  std::byte* out = nullptr;
  std::byte* saved = nullptr;
  std::size_t out_bytes = 0, stride = 0;
  /// Batches that ran in one call share a block of memory, which belongs to the first of them: how
  /// many stand before this one. How large the block is; 0 if it belongs to another.
  std::uint32_t behind_first = 0;
  std::size_t block_bytes = 0;
  const Operand* inputs = nullptr;
  const std::uint32_t* integers = nullptr;
  const void* reals = nullptr;
  std::uint64_t run = 0;        ///< CommonState::runs, when it ran
  std::uint32_t cells = kNone;  ///< in RunState::cell_batches, if its members are of cells
  bool shared = false;          ///< of nodes with an identity: computed once for all tapes
};

/// Nodes of a sample that are planned and run as one.
struct Cell {
  std::uint32_t tape = 0, type = 0;
  std::uint32_t first_node = 0;  ///< into RunState::cell_nodes
  std::uint32_t first_port = 0;  ///< into RunState::cell_ports
  std::uint32_t batch = kNone;   ///< in RunState::cell_batches; none: did not run, or was reverted
  std::uint32_t place = 0;       ///< in its batch
  NodeId entered_at = 0;         ///< the member in whose place it stands among other nodes
  bool others_between = false;   ///< of the same sample, which are not of it
};

/// Nodes that are to run and that a program has declared to be a cell: as many as its type has
/// members, beside each other among those of their tape.
struct DeclaredCell {
  NodeRef first;
  std::uint32_t type = 0;        ///< in the dictionary
  std::uint32_t first_port = 0;  ///< into CommonState::declared_ports
};

/// Cells that ran together: a batch for each step of their type, one after the other. Of the items
/// of a step, those of its first member come first, in the order of the cells.
struct CellBatch {
  std::uint32_t type = 0;
  std::uint32_t first_cell = 0, cells = 0;  ///< into RunState::cell_order
  std::uint32_t first_batch = 0;
};

/// An input of a shared node: a stretch of another shared value.
struct SharedInput {
  Value value;
  Identity producer = 0;
};

/// A parameter, or a value that follows from parameters and constants alone: once for all tapes. It
/// outlives the node that it was first needed for.
struct SharedValue {
  ParameterStorage* parameter = nullptr;
  TypeId type = 0;
  std::uint32_t items = 1, batch = kNone;
  std::byte* value = nullptr;
  std::vector<SharedInput> inputs;
  /// Copies that products read: of what is no parameter, and of one whose memory somebody holds.
  std::shared_ptr<PackedMatrices> packed;
  std::uint64_t run = 0;  ///< CommonState::runs, when it was found last
  /// The node that stands for it while it is computed.
  NodeRef representative;
  bool pending = false;
  /// Of what is no parameter: the sum of what its consumers contributed in this pass, if anything.
  std::byte* gradient = nullptr;
  bool has_gradient = false;
};

/// Where a member of a batch finds its inputs.
struct MemberInputs {
  const ValueId* ids;
  const Value* values;
  const NodeState* states;

  const Value& value(unsigned j) const { return values[ids[j]]; }
  const std::byte* place(unsigned j, std::size_t element) const {
    return states[value(j).node].value + value(j).offset * element;
  }
};

/// How many nodes of a type ran in how many batches.
struct TypeCount {
  std::uint64_t nodes = 0, items = 0, batches = 0, forward_calls = 0, backward_calls = 0;

  TypeCount& operator+=(const TypeCount& other) {
    nodes += other.nodes;
    items += other.items;
    batches += other.batches;
    forward_calls += other.forward_calls;
    backward_calls += other.backward_calls;
    return *this;
  }
};

/// How many cells of a type ran, and how they ran backward.
struct CellCount {
  std::uint64_t cells = 0, batches = 0, whole = 0, by_node = 0;
  CellReasonCounts reasons{};  ///< of those that ran node by node, and of what only began like one

  CellCount& operator+=(const CellCount& other) {
    cells += other.cells;
    batches += other.batches;
    whole += other.whole;
    by_node += other.by_node;
    for (std::size_t r = 0; r < kCellReasons; ++r) reasons[r] += other.reasons[r];
    return *this;
  }
};

/// A parameter as it was when a run read it.
struct ReadParameter {
  explicit ReadParameter(const ParameterStorage& storage);

  /// Whether its values may be others by now; and whether they are, as far as that can be told:
  /// writes into the memory of a table that was handed out are not seen. The second takes time in
  /// proportion to a parameter whose memory was handed out.
  bool may_have_changed() const { return parameter->version != version; }
  bool has_changed() const;

  const ParameterStorage* parameter;
  std::uint64_t version, changes;
  bool has_digest;
  std::size_t digest;
};

struct TapeState {
  Tape* tape = nullptr;
  std::vector<NodeState> nodes;
};

/// What all lanes of a run have in common. Tapes have one TypeTable.
struct CommonState {
  explicit CommonState(const GraphOptions& graph_options)
      : options(graph_options),
        memory(options.device->memory()),
        inputs(memory),
        shared_values(memory) {}

  /// From now on dropout draws other numbers.
  void take_step() {
    if (options.random != nullptr) random = options.random->next_step();
  }

  /// One by one means one by one, and the bound on memory is known for single nodes only.
  bool uses_cells() const {
    return options.cells_after > 0 && options.policy != batching::Policy::none &&
           options.memory_limit == 0;
  }

  GraphOptions options;
  RandomKey random;
  std::vector<TapeState> tapes;
  CellDictionary dictionary;
  std::vector<DeclaredCell> declared;  ///< of the nodes that are to run, in their order
  std::vector<ValueId> declared_ports;
  std::vector<SharedValue> shared;  ///< by identity

  std::shared_ptr<MemorySource> memory;  ///< of the device

  Arena inputs;         ///< those that were brought to the device
  Arena shared_values;  ///< values and gradients of shared nodes
  Arena shared_lists;   ///< and the lists of their batches

  /// Called when the gradient of a parameter will not change any more in this pass.
  std::function<void(const ParameterStorage&)> on_gradient_complete;

  std::vector<ReadParameter> read_parameters;
  bool reads_lazy_tables = false;
  std::uint64_t runs = 0;                      ///< forward and backward, so far
  std::vector<std::uint64_t> released_bounds;  ///< by type: of nodes whose values were released
  std::uint64_t recomputed = 0;                ///< nodes that ran again after they had been freed
};

/// The run of consecutive tapes, one of several that run beside each other: they read what they
/// have in common and write what is their own. Nodes that all share run in the first.
struct RunState {
  explicit RunState(CommonState& common_state)
      : common(common_state), values(common.memory), gradients(common.memory) {}

  const NodeState& state(NodeRef ref) const { return tapes[ref.tape].nodes[ref.node]; }
  NodeState& state(NodeRef ref) { return tapes[ref.tape].nodes[ref.node]; }
  const Tape& tape(NodeRef ref) const { return *tapes[ref.tape].tape; }
  /// The whole output of a node, and what it is known by across tapes (0: nothing).
  const Value& output(NodeRef ref) const {
    const Tape& tape = *tapes[ref.tape].tape;
    return tape.value(tape.node(ref.node).value);
  }
  std::uint32_t items_of(NodeRef ref) const { return tape(ref).items_of(ref.node); }
  Identity identity_of(NodeRef ref) const { return output(ref).identity; }
  const TypeTable& types() const { return tapes.front().tape->types(); }
  std::span<const NodeRef> members_of(const Batch& batch) const {
    return std::span(members).subspan(batch.first_member, batch.members);
  }
  std::size_t saved_bytes(const Batch& batch) const {
    const Signature& signature = types()[batch.type].signature;
    return batch.items * signature.saved_size * size_of(signature.dtype);
  }
  std::span<const NodeId> nodes_of(const Cell& cell) const {
    const std::size_t size = common.dictionary[cell.type].pattern.size();
    return std::span(cell_nodes).subspan(cell.first_node, size);
  }
  std::span<const ValueId> ports_of(const Cell& cell) const {
    return std::span(cell_ports)
        .subspan(cell.first_port, common.dictionary[cell.type].pattern.ports);
  }
  std::span<const std::uint32_t> cells_of(const CellBatch& batch) const {
    return std::span(cell_order).subspan(batch.first_cell, batch.cells);
  }
  /// Forgets the cells behind the first ones; allocates nothing.
  void resize_cells(std::size_t cell_count, std::size_t batch_count) {
    if (cell_count < cells.size()) {
      cell_nodes.resize(cells[cell_count].first_node);
      cell_ports.resize(cells[cell_count].first_port);
      cells.resize(cell_count);
    }
    if (batch_count < cell_batches.size()) {
      cell_order.resize(cell_batches[batch_count].first_cell);
      cell_batches.resize(batch_count);
    }
  }
  CellCount& count_of(std::uint32_t cell_type) {
    if (cell_counts.size() <= cell_type) cell_counts.resize(common.dictionary.size());
    return cell_counts[cell_type];
  }
  void count_reason(std::uint32_t cell_type, CellReason reason) {
    ++count_of(cell_type).reasons[static_cast<std::size_t>(reason)];
  }
  const Kernels& kernels(TypeId type) {
    if (kernels_of_type.size() <= type) kernels_of_type.resize(types().type_count());
    const Kernels*& known = kernels_of_type[type];
    if (known == nullptr) known = &queue->kernels(*types()[type].op);
    return *known;
  }

  CommonState& common;
  const GraphOptions& options = common.options;
  const RandomKey& random = common.random;
  std::vector<TapeState>& tapes = common.tapes;
  std::vector<SharedValue>& shared = common.shared;

  std::uint32_t first_tape = 0, end_tape = 0;
  Queue* queue = nullptr;
  std::vector<const Kernels*> kernels_of_type;

  std::vector<Batch> batches;
  std::size_t batches_after_drop = 0;  ///< see Executor::drop_empty_batches
  std::vector<NodeRef> members;
  std::vector<MemberInputs> member_inputs;  ///< of the batch that is being run

  std::vector<Cell> cells;
  std::vector<NodeId> cell_nodes;
  std::vector<ValueId> cell_ports;
  std::vector<CellBatch> cell_batches;
  std::vector<std::uint32_t> cell_order;  ///< cells, batch by batch

  BlockPool values;  ///< outputs and saved items
  Arena lists;       ///< pointers and numbers of batches, for this process
  Arena gradients;   ///< of one backward pass

  std::vector<TypeCount> counts;       ///< by type
  std::vector<CellCount> cell_counts;  ///< by cell type
  std::uint64_t copied_bytes = 0;
  double plan_seconds = 0;
};

}  // namespace dynet_like
