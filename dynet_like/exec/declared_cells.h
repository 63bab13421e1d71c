// Looks up the cells that a program has declared, before nodes run.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dynet_like/exec/cell_reasons.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like {

/// Makes a cell of the nodes of each declared range that are to run, all together. Nobody asks
/// whether that is worth it, and how often there is such a cell: the program has said so.
class DeclaredCells {
 public:
  /// Called before nodes run, tape by tape in the order of recording. Fills `common.declared`; a
  /// cell of a new type is entered into the dictionary at once.
  void look_at(std::span<const NodeRef> pending, CommonState& common);
  /// Declared ranges that are no cells.
  std::span<const RefusedCell> refused() const { return refused_; }
  /// Forgets what was refused; allocates nothing.
  void clear() { refused_.clear(); }

 private:
  void look_at_range(std::span<const NodeRef> members, std::string_view name, CommonState& common);
  CellReason read_pattern(std::span<const NodeRef> members, const Tape& tape);
  CellReason read_inputs(std::span<const NodeRef> members, NodeId node, const Tape& tape);
  void refuse(std::span<const NodeRef> members, const Tape& tape, std::string_view name,
              CellReason reason);

  std::vector<RefusedCell> refused_;
  // Of the range that is being read; kept for their memory.
  CellPattern pattern_;
  std::vector<ValueId> ports_;
};

}  // namespace dynet_like
