// Looks up the cells that a program has declared, before nodes run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dynet_like/exec/cell_reasons.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Makes a cell of the nodes of each declared range that are to run, all together. Nobody asks
/// whether that is worth it, and how often there is such a cell: the program has said so.
class DeclaredCells {
 public:
  explicit DeclaredCells(CommonState& common) : common_(common) {}

  /// Called before nodes run, tape by tape in the order of recording. Fills CommonState::declared;
  /// a cell of a new type is entered into the dictionary at once.
  void look_at(std::span<const NodeRef> pending);
  /// Declared ranges that are no cells.
  std::span<const RefusedCell> refused() const { return refused_; }
  /// Forgets cells and what was refused; allocates nothing.
  void clear();

 private:
  using From = CellInput::From;
  /// The nodes of a range that are to run.
  struct Members {
    std::span<const NodeRef> refs;
    const Tape& tape;

    /// Which of them it is; their number if it is none.
    std::size_t index_of(NodeId node) const;
  };

  void look_at_range(const Members& members, std::string_view name);
  CellReason find(const Members& members, std::uint32_t& type);
  bool fits(const CellPattern& pattern, const Members& members);
  CellReason why_no_cell(const Members& members) const;
  CellPattern pattern_of(const Members& members);
  void refuse(const Members& members, std::string_view name, CellReason reason);

  CommonState& common_;
  std::vector<RefusedCell> refused_;
  std::vector<ValueId> ports_;  ///< of the range that is being read
};

}  // namespace dynet_like::detail
