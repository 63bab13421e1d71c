// Which cell types are worth it: those that save more by their nodes than they cost in calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batching/dag.h"
#include "batching/policy.h"
#include "dynet_like/exec/cell_type.h"

namespace dynet_like::detail {

/// Nodes that would run as a cell of this type, in ascending order.
struct CellPlace {
  std::uint32_t type = 0;
  std::vector<std::uint32_t> nodes;
};

/// Nodes that ran together, call by call, and the cells that they could have been.
struct CellTrial {
  batching::Dag dag;
  std::span<const std::uint32_t> first_of_run;  ///< in ascending order, the first is 0
  std::span<const CellType> cells;
  std::span<const CellPlace> places;
  std::span<const float> weights;  ///< by type of the graph: what a call costs
  batching::Policy policy;
  double nodes_per_call = 1;  ///< a call costs as much as planning and listing these
};

/// Per cell type, whether to use it. Nodes of a cell run together, so that some must wait for
/// others, and batches become more and smaller.
std::vector<bool> choose_cells(const CellTrial& trial);

}  // namespace dynet_like::detail
