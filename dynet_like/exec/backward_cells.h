// Cells that run backward as a whole: one call per step.
#pragma once

#include <cstdint>
#include <vector>

#include "dynet_like/exec/backward_pass.h"

namespace dynet_like::detail {

/// Keeps its memory from batch to batch.
class BackwardCells {
 public:
  explicit BackwardCells(BackwardPass& pass)
      : pass_(pass), run_(pass.run), slot_memory_(run_.common.memory) {}

  /// Runs those cells of a batch for which the plan says so. Returns their places in it.
  std::span<const std::uint32_t> run(std::uint32_t cell_batch);

 private:
  void find_port_edges(const CellBatch& cells);
  void make_slots(const CellBatch& cells);
  std::size_t bytes_of_input(const CellType& type, std::uint32_t e) const;
  void add_slots_of_member(const CellBatch& cells, std::uint16_t member);
  void add_slots_of_ports(const CellBatch& cells);
  void run_step(const CellBatch& cells, std::uint16_t step);
  void complete_gradients(const CellBatch& cells, const CellStep& step);
  const Destination* destinations(const CellBatch& cells, const CellStep& step);
  Destination destination(const CellBatch& cells, const CellStep& step, unsigned input);
  bool add_places_in_member(const CellBatch& cells, std::uint32_t input, void** places,
                            std::uint8_t* add);
  bool add_places_in_ports(const CellBatch& cells, std::uint32_t input, void** places,
                           std::uint8_t* add);
  const CellGradients& plan() const { return pass_.plan.cells; }

  BackwardPass& pass_;
  RunState& run_;
  std::vector<std::uint32_t> whole_cells_;       ///< places in the batch
  std::vector<std::byte*> slots_;                ///< by CellType::slots
  std::vector<const EdgeGradient*> port_edges_;  ///< by port, of all whole cells
  Arena slot_memory_;
};

}  // namespace dynet_like::detail
