// The cells of a lane, and the batches in which they ran.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/cell_dictionary.h"
#include "dynet_like/exec/node_ref.h"

namespace dynet_like::detail {

/// Nodes of a sample that are planned and run as one.
struct Cell {
  std::uint32_t tape = 0, type = 0;
  std::uint32_t first_node = 0;  ///< into LaneCells::nodes
  std::uint32_t first_port = 0;  ///< into LaneCells::ports
  std::uint32_t batch = kNone;   ///< in LaneCells::batches; none: did not run, or was reverted
  std::uint32_t place = 0;       ///< in its batch
  NodeId entered_at = 0;         ///< the member in whose place it stands among other nodes
  bool others_between = false;   ///< of the same sample, which are not of it
};

/// Cells that ran together: a batch for each step of their type, one after the other. Of the items
/// of a step, those of its first member come first, in the order of the cells.
struct CellBatch {
  std::uint32_t type = 0;
  std::uint32_t first_cell = 0, cells = 0;  ///< into LaneCells::order
  std::uint32_t first_batch = 0;
};

struct LaneCells {
  explicit LaneCells(const CellDictionary& types) : dictionary(types) {}

  std::span<const NodeId> nodes_of(const Cell& cell) const {
    return std::span(nodes).subspan(cell.first_node, dictionary[cell.type].pattern.size());
  }
  std::span<const ValueId> ports_of(const Cell& cell) const {
    return std::span(ports).subspan(cell.first_port, dictionary[cell.type].pattern.ports);
  }
  std::span<const std::uint32_t> cells_of(const CellBatch& batch) const {
    return std::span(order).subspan(batch.first_cell, batch.cells);
  }
  /// Forgets those behind the first ones; allocates nothing.
  void resize(std::size_t cell_count, std::size_t batch_count) {
    if (cell_count < all.size()) {
      nodes.resize(all[cell_count].first_node);
      ports.resize(all[cell_count].first_port);
      all.resize(cell_count);
    }
    if (batch_count < batches.size()) {
      order.resize(batches[batch_count].first_cell);
      batches.resize(batch_count);
    }
  }

  const CellDictionary& dictionary;
  std::vector<Cell> all;
  std::vector<NodeId> nodes;
  std::vector<ValueId> ports;
  std::vector<CellBatch> batches;
  std::vector<std::uint32_t> order;  ///< cells, batch by batch
};

}  // namespace dynet_like::detail
