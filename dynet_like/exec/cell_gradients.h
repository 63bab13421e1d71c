// Which cells run backward as a whole, and how the gradients of their members are summed.
#pragma once

#include <cstdint>
#include <vector>

#include "dynet_like/exec/node_gradients.h"

namespace dynet_like::detail {

/// The part of a plan that tells of cells.
class CellGradients {
 public:
  /// What becomes of a cell in this pass: nothing, or it runs as a whole, or node by node.
  enum class Use : std::uint8_t { none, whole, by_node };
  /// What is known of the cells of a batch.
  struct OfBatch {
    std::uint64_t summed = 0, begun = 0;  ///< bits of members: with slots, with begun parts
    bool has_single_nodes = false;        ///< some cells run node by node
    bool has_gradients = false;           ///< there is room for them
  };

  CellGradients(RunState& run, NodeGradients& nodes) : run_(run), nodes_(nodes) {}

  /// Forgets the last pass, and tells nodes which cells they are in; without `whole`, all nodes run
  /// one by one.
  void begin(bool whole);
  /// Decides for a cell all of whose readers are decided. If it runs node by node, its members are
  /// nodes by themselves from now on; those that would have had their turns are decided.
  void decide(std::uint32_t cell);

  Use use(std::uint32_t cell) const { return uses_[cell]; }
  const OfBatch& of_batch(std::uint32_t cell_batch) const { return batches_[cell_batch]; }
  /// Bits of the members that read ports that are shared values.
  std::uint64_t read_shared(std::uint32_t cell) const { return read_shared_[cell]; }

  NodeRef member_of(const Cell& cell, std::uint16_t member) const {
    return {cell.tape, run_.cells.nodes[cell.first_node + member]};
  }
  std::uint32_t edge_of(const Cell& cell, std::uint16_t member, std::uint16_t input) const {
    const NodeRef ref = member_of(cell, member);
    return run_.tape(ref).node(ref.node).first_edge + input;
  }

 private:
  /// What a pass knows of all cells of a type.
  struct Facts {
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
  };

  const Facts& facts_of(const Cell& example);
  void describe_ports(const Cell& example, std::uint16_t member, Facts& facts) const;
  bool arguments_are_collected(const Cell& example);
  CellReason why_by_node(const Cell& cell, std::uint64_t read_outside);
  CellReason why_not_ports(const Cell& cell) const;
  CellReason why_not_member(const Cell& cell, std::uint16_t member);
  bool has_one_reader_each(const CellMember& member, NodeRef ref, const NodeGradient& node) const;
  void run_whole(std::uint32_t cell, std::uint64_t read_outside);
  void run_by_node(std::uint32_t cell, CellReason reason);
  void reserve(const Cell& cell);
  void enter_parts(const CellMember& member);
  void place_member(const Cell& cell, std::uint16_t member);
  void link_port(std::uint32_t cell, std::uint16_t port);
  void collect_port(std::uint32_t cell, std::uint16_t port);
  const CellType& type_of(const Cell& cell) const { return run_.common.dictionary[cell.type]; }

  RunState& run_;  ///< whose counts are written
  NodeGradients& nodes_;
  std::vector<Use> uses_;                   ///< by cell
  std::vector<std::uint64_t> read_shared_;  ///< by cell
  std::vector<Facts> facts_;                ///< by cell type
  std::vector<OfBatch> batches_;
};

}  // namespace dynet_like::detail
