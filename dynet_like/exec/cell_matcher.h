// Divides the nodes that are to run into cells and single nodes.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// What is planned as one node: a cell, or a node by itself.
struct Unit {
  std::uint32_t node = 0;      ///< in the list of nodes that are to run; of a cell the first
  std::uint32_t cell = kNone;  ///< in LaneCells::all
};

/// Finds the cells of a lane. Keeps its memory from call to call.
class CellMatcher {
 public:
  explicit CellMatcher(RunState& run) : run_(run) {}

  /// The units of nodes that stand tape by tape as they were recorded; every unit comes after those
  /// that it reads. Cells are entered into the run.
  std::span<const Unit> divide(std::span<const NodeRef> pending);
  /// How many of the nodes are in no cell.
  std::size_t single_nodes() const { return single_nodes_; }

 private:
  using From = CellInput::From;
  std::uint32_t find_cell(std::span<const std::uint32_t> candidates,
                          std::span<const NodeRef> pending, std::uint32_t first);
  bool match(const CellType& cell, std::span<const NodeRef> pending, std::uint32_t first);
  void begin_match();
  bool match_closed(const CellType& cell, std::span<const NodeRef> pending, std::uint32_t first);
  bool fits(std::span<const CellInput> inputs, const ValueId* ids, const Tape& tape);
  bool has_one_order(std::uint32_t tape);
  bool look_between(std::uint32_t tape);
  CellReason why_unfit() const;
  bool is_between(NodeId node) const;
  bool miss(CellReason reason) {
    miss_ = reason;
    return false;
  }
  void pass_over(std::span<const NodeRef> pending, std::uint32_t index);
  void enter(std::uint32_t cell, std::span<const NodeRef> pending, std::uint32_t first);

  RunState& run_;
  std::vector<Unit> units_;
  std::vector<std::uint8_t> taken_;  ///< per node, whether a unit before has it
  std::size_t single_nodes_ = 0;

  // Of the cell that is being matched.
  CellReason miss_ = CellReason::none;  ///< why it does not fit, if that is worth telling
  std::vector<std::uint32_t> members_;  ///< in the list of nodes
  std::vector<NodeId> nodes_;
  std::vector<ValueId> ports_;
  /// A node that lies between members.
  struct Between {
    std::uint32_t index;
    NodeId node;
    bool reads_cell;
  };
  std::vector<Between> between_;
  bool others_between_ = false;  ///< also nodes that do not run now
  bool enters_before_ = false;   ///< nodes between become units that come before the cell
  bool reads_between_ = false;   ///< a port comes from a node between
};

}  // namespace dynet_like::detail
