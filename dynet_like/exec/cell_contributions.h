// What cells that run backward as a whole contribute to shared values: known by type, listed by
// batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/backward_pass.h"

namespace dynet_like::detail {

class CellContributions {
 public:
  explicit CellContributions(BackwardPass& pass) : pass_(pass), run_(pass.run) {}

  /// Forgets the last pass.
  void begin();
  /// A batch has run, these of its cells as a whole: notes where their contributions lie.
  void list(std::uint32_t cell_batch, std::span<const std::uint32_t> whole_cells);
  /// Those of a cell, when this member has its turn in the order of recording: at the first member
  /// for all, but one by one where other nodes contribute in between.
  void contribute(std::uint32_t cell, std::uint16_t member);

 private:
  /// What a member contributes to a shared value; its dy is an item of its step.
  struct Contribution {
    std::uint16_t member = 0, step = 0, place = 0;
    bool is_complete = true;  ///< else the node must be asked
    bool of_port = false;     ///< only of cells where the port that is read is a shared value
    bool is_deferred = false;
    std::uint32_t integers = 0;  ///< of an item
    std::size_t deferred_bytes = 0;
    SharedContributions::TypeContribution what = {};
  };
  /// In recording order; and the same with less to do, for cells with no other contributions in
  /// between.
  struct OfType {
    bool known = false;
    std::vector<Contribution> apart, together;
  };
  /// A contribution of all cells of a batch: one behind the other, in the order of the cells.
  struct OfBatch {
    const std::byte* dy = nullptr;
    std::size_t stride = 0;               ///< bytes from cell to cell
    Operand factor;                       ///< of outer products
    const std::uint32_t* rows = nullptr;  ///< of tables
  };
  struct Lists {
    std::uint32_t apart = 0, together = 0;  ///< the first of each, in `listed_`
  };

  const OfType& of_type(const Cell& example);
  void describe(const Cell& example, std::uint16_t member, OfType& facts);
  std::uint32_t list(const CellBatch& cells, std::span<const Contribution> all);
  bool is_apart(std::uint32_t cell) const {
    return run_.cells.all[cell].others_between || pass_.plan.cells.read_shared(cell) != 0;
  }
  NodeRef member_of(const Cell& cell, std::uint16_t member) const {
    return pass_.plan.cells.member_of(cell, member);
  }

  BackwardPass& pass_;
  RunState& run_;
  std::vector<OfType> types_;   ///< by cell type
  std::vector<Lists> batches_;  ///< by cell batch
  std::vector<OfBatch> listed_;
};

}  // namespace dynet_like::detail
