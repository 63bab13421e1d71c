// The backward pass of one lane: its batches in reverse, gradients summed in recording order.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/needed.h"
#include "dynet_like/exec/run_state.h"
#include "dynet_like/exec/shared_contributions.h"

namespace dynet_like::detail {

/// How the contribution of an edge reaches the gradient of its producer. That depends on the graph
/// alone, never on the schedule, so that the bits do not either: one of two may come first, since
/// a + b = b + a; more are summed from slots of their own, in recording order.
enum class Contribution : std::uint8_t {
  written,     ///< where it belongs: the only one there, or the first of two
  added,       ///< the second of two
  slot,        ///< to a slot, whose numbers are the first there
  added_slot,  ///< to a slot, whose numbers are added
  collected    ///< of a cell to a shared value: to slots that are added when the pass has ended
};

struct NodeGradient {
  std::byte* gradient = nullptr;
  std::uint32_t first_consumer = kNone;  ///< edge; the others follow in recording order
  std::uint32_t cell = kNone;            ///< that it is a member of and runs backward with
  std::uint8_t member = 0;               ///< which one
  /// Of a member: bits of the parts of its output that have contributions from outside already.
  std::uint8_t begun_parts = 0;
  bool active = false, seeded = false;
  bool has_slots = false;
  /// Has arguments that depend on parameters alone; some that its type does not name.
  bool reads_shared = false, reads_unnamed = false;
};

/// Valid for the inputs of nodes that take part.
struct EdgeGradient {
  std::byte* place = nullptr;  ///< where the kernel writes or adds; null: not wanted from it
  std::uint32_t next = kNone;
  /// Contributions: one, or one per item that a value is stretched to, or per reader in a cell.
  std::uint32_t copies = 1;
  std::uint32_t batch = kNone;  ///< of the consumer; of all that is in a cell, the cell's first
  Contribution contribution = Contribution::written;
  std::uint8_t group = 0;
  bool in_order = true;  ///< its copies may be added to one place, one after the other
};

/// Runs backward passes over the tapes of one lane. Keeps its memory, and the gradients of the last
/// pass.
class Backward {
 public:
  explicit Backward(RunState& run)
      : run_(run),
        shared_(run.common),
        gradients_(run.common.memory),
        cell_slots_(run.common.memory) {}

  /// Finds the gradients of the sum of these values, those of them that are in this lane; `full`:
  /// inputs have gradients too. What parameters and what follows from them alone get is collected.
  void run(std::span<const ValueRef> roots, bool full);
  SharedContributions& contributions() { return shared_; }
  Arena& gradients() { return gradients_; }

  /// The gradient of a node's output in the last pass, or null if it has none.
  const std::byte* gradient_of(NodeRef ref) const;
  void forget() { used_ = false; }
  bool was_run() const { return used_; }

 private:
  struct TapeGradients {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<Value> shared_roots;
  };
  /// Elements that contributions cover, and how many there are.
  struct Group {
    std::size_t begin = 0, end = 0;
    std::uint32_t readers = 0;  ///< members of the same cell, which were recorded before all others
    std::uint32_t copies = 0;
    std::uint32_t first_batch = kNone, last_batch = 0;  ///< of those that contribute
    std::uint32_t added_until = kNone;  ///< the batch of the last that is added in place
    bool has_slots = false;
  };
  /// What a member contributes to a shared value; its dy is an item of its step. Or what members of
  /// all steps of a joint contribute together, as a list of contributions; the step is the first.
  struct CellContribution {
    std::uint16_t member = 0, step = 0, place = 0;
    std::uint32_t list = kNone;
    bool is_complete = true;  ///< else the node must be asked
    bool of_port = false;     ///< only of cells where the port that is read is a shared value
    bool is_deferred = false;
    std::uint32_t integers = 0;  ///< of an item
    std::size_t deferred_bytes = 0;
    SharedContributions::TypeContribution what = {};
  };
  /// What a pass knows of all cells of a type.
  struct CellFacts {
    struct Port {
      std::uint64_t readers = 0;  ///< bits of the members that read it
      bool is_dense = false;      ///< kernels write what some of them contribute, if it is shared
    };
    bool known = false;
    bool runs_whole = false;          ///< unless something is special about a cell
    std::uint64_t must_be_read = 0;   ///< bits of members that no other member reads
    std::uint64_t may_not_reach = 0;  ///< whose values may depend on no parameter
    std::uint64_t not_covered = 0;    ///< of whose output members read only parts
    std::vector<Port> ports;
    /// In recording order, what members contribute to shared values; and the same with less to do,
    /// for cells with no other contributions in between.
    std::vector<CellContribution> contributions, together;
  };
  /// What becomes of a cell in this pass: nothing, or it runs as a whole, or node by node.
  enum class CellUse : std::uint8_t { none, whole, by_node };

  /// What a type says of its nodes' inputs: a bit for each of the first 64 that is one argument for
  /// all, of which no kernel writes a gradient: it is collected for the whole pass, or not wanted.
  struct TypeInputs {
    bool known = false, collects = false;
    std::uint64_t collected = 0;

    bool is_collected(std::size_t input) const {
      return input < 64 && (collected >> input & 1) != 0;
    }
  };

  // Which nodes take part, and how their contributions are summed.
  const TypeInputs& inputs_of_type(NodeRef example);
  void seed(std::span<const ValueRef> roots);
  void mark_tape(std::uint32_t tape);
  void activate(NodeGradient& node) {
    node.active = true;
    if (node.cell != kNone) read_outside_[node.cell] |= std::uint64_t{1} << node.member;
  }
  void link(NodeRef consumer, std::uint32_t edge, ValueId input);
  bool is_open(NodeRef consumer, std::uint32_t edge) const;
  bool has_one_reader(NodeRef ref, const NodeGradient& node) const;
  void choose_contributions(NodeRef ref);
  void insert_edge(NodeRef producer, std::uint32_t edge);
  bool has_parts_per_item(NodeRef ref) const;
  bool group_contributions(NodeRef ref);
  void clear_gradient(NodeRef ref);
  void place_in_groups(NodeRef ref);
  void place_in_node(NodeRef ref, std::uint32_t edge, bool adds);
  void place_in_slots(NodeRef ref, std::uint32_t edge, Contribution contribution);
  bool is_wanted(const Value& value) const {
    return !full_ || value.identity != 0 ? value.reaches_parameter : !value.blocks_gradient;
  }
  std::byte* gradient_block(NodeRef ref);
  const std::byte* contribution_of(NodeRef ref) const;
  void contribute_to_shared(std::uint32_t tape);
  void contribute_node(NodeRef ref, std::span<const ValueId> inputs);
  void contribute_members(std::uint32_t cell, std::uint16_t member);
  void contribute_port(const Cell& cell, const CellContribution& contribution);
  void describe_ports(const Cell& example, std::uint16_t member, CellFacts& facts);
  void describe_contributions(const Cell& example, std::uint16_t member, CellFacts& facts);
  void join_contributions(const CellType& type, CellFacts& facts);
  CellContribution as_one(const CellType& type, std::span<const CellContribution> all,
                          std::span<const std::size_t> group, const CellFacts& facts);

  // Cells.
  void enter_cells();
  void mark_cell(std::uint32_t cell);
  CellReason why_by_node(const Cell& cell, std::uint64_t read_outside);
  CellFacts& facts_of(const Cell& example);
  bool arguments_are_collected(const Cell& example);
  void make_gradients(const Cell& cell);
  void make_gradient_of_batch(std::uint32_t batch);
  CellReason why_not_member(const Cell& cell, std::uint16_t member);
  bool has_one_reader_each(const CellMember& member, NodeRef ref, const NodeGradient& node) const;
  CellReason why_not_ports(const Cell& cell) const;
  void begin_groups(const Cell& cell, std::uint16_t member);
  void place_member(const Cell& cell, std::uint16_t member);
  void place_behind_readers(NodeRef ref, std::uint32_t edge);
  void link_port(std::uint32_t cell, std::uint16_t port);
  void collect_port(std::uint32_t cell, std::uint16_t port);
  bool is_last_of_cells(std::uint32_t batch) const;
  bool has_single_nodes(std::uint32_t batch) const;
  void run_cells(std::uint32_t cell_batch);
  void find_port_edges(const CellBatch& cells);
  void make_slots(const CellBatch& cells);
  std::size_t bytes_of_input(const CellType& type, std::uint32_t e) const;
  void add_slots_of_member(const CellBatch& cells, std::uint16_t member);
  void add_slots_of_ports(const CellBatch& cells);
  bool contributes_apart(std::uint32_t cell) const {
    return run_.cells.all[cell].others_between || read_shared_[cell] != 0;
  }
  void list_contributions(std::uint32_t cell_batch);
  std::uint32_t list_contributions(const CellBatch& cells, std::span<const CellContribution> all);
  void run_cell_step(const CellBatch& cells, std::uint16_t step);
  void run_cell_joint(const CellBatch& cells, const CellJoint& joint);
  void complete_gradients(const CellBatch& cells, const CellStep& step);
  const Destination* cell_destinations(const CellBatch& cells, const CellStep& step);
  Destination cell_destination(const CellBatch& cells, const CellStep& step, unsigned input);
  bool add_places_in_member(const CellBatch& cells, std::uint32_t input, void** places,
                            std::uint8_t* add);
  bool add_places_in_ports(const CellBatch& cells, std::uint32_t input, void** places,
                           std::uint8_t* add);
  NodeRef member_of(const Cell& cell, std::uint16_t member) const {
    return {cell.tape, run_.cells.nodes[cell.first_node + member]};
  }
  std::uint32_t edge_of(const Cell& cell, std::uint16_t member, std::uint16_t input) const {
    const NodeRef ref = member_of(cell, member);
    return run_.tape(ref).node(ref.node).first_edge + input;
  }

  // One batch.
  void mark_node(NodeRef ref);
  void run_batch(std::uint32_t index);
  void run_members(std::uint32_t index, const NodeType& type);
  void call_kernel(std::uint32_t index, const NodeType& type, const Destination* dx);
  const void* transpose(const NodeType& type, unsigned input, const Destination* dx);
  Destination destination(unsigned input, std::uint32_t items);
  std::size_t stride_of(NodeRef consumer, unsigned input) const;
  void sum_slots(NodeRef ref);

  RunState& run_;
  SharedContributions shared_;
  Arena gradients_;  ///< of the last pass
  bool full_ = false;
  std::vector<TypeInputs> types_;
  std::vector<TapeGradients> tapes_;  ///< those of other lanes are empty
  /// What is known of the cells of a batch.
  struct BatchOfCells {
    std::uint64_t summed = 0, begun = 0;  ///< bits of members: with slots, with begun parts
    std::uint32_t first_contribution = 0, first_together = 0;  ///< see CellFacts
    bool has_gradients = false;                                ///< there is room for them
    bool has_single_nodes = false;                             ///< some cells run node by node
  };
  /// A contribution of all cells of a batch: one behind the other, in the order of the cells.
  struct BatchContribution {
    const std::byte* dy = nullptr;
    std::size_t stride = 0;               ///< bytes from cell to cell
    Operand factor;                       ///< of outer products
    const std::uint32_t* rows = nullptr;  ///< of tables
  };
  std::vector<CellUse> cell_uses_;           ///< by cell
  std::vector<std::uint64_t> read_outside_;  ///< by cell: bits of members read from outside
  std::vector<std::uint64_t> read_shared_;   ///< and of those that read ports of shared values
  std::vector<CellFacts> cell_facts_;        ///< by cell type
  std::vector<BatchOfCells> cell_batches_;
  std::vector<BatchContribution> batch_contributions_;
  // Of the batch of cells that is being run.
  std::vector<std::uint32_t> whole_cells_;  ///< places of those that run as a whole
  std::vector<std::byte*> slots_;           ///< by CellType::slots
  std::vector<EdgeGradient*> port_edges_;   ///< by port, of all whole cells
  Arena cell_slots_;
  bool used_ = false;
  std::vector<std::byte*> batch_gradients_;
  std::vector<std::byte*> batch_deferred_;  ///< what kernels left for shared arguments
  // Of the batch that is being run: the nodes that take part, their edges, and their items.
  std::vector<NodeRef> members_;
  std::vector<EdgeGradient*> member_edges_;
  std::vector<std::uint32_t> positions_;
  std::vector<Group> groups_;
  std::vector<const void*> addends_;
  Arena lists_;
};

}  // namespace dynet_like::detail
