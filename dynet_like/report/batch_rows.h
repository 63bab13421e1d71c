// The batches of a run as rows of a picture.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// A node that is drawn.
struct RowMark {
  NodeRef node;
  std::string title;  ///< for who points at it
};

/// Nodes that ran in one kernel call.
struct BatchRow {
  std::size_t kind = 0;  ///< into BatchRows::kinds
  std::uint64_t run = 0;
  std::size_t nodes = 0, samples = 0;
  bool shared = false;  ///< of parameters alone, for all samples
  bool is_alone() const { return nodes == 1 && !shared; }
  std::map<std::uint32_t, std::vector<RowMark>> marks;  ///< by sample, of those with columns
};

/// A type of nodes.
struct RowKind {
  std::string op, shapes;
};

struct BatchRows {
  std::vector<BatchRow> rows;  ///< in the order in which they ran; of threads, one after the other
  std::vector<RowKind> kinds;
  std::size_t nodes = 0;
};

/// Of all lanes of a run, with marks of the first `samples` in the rows from `first` to `end`.
BatchRows rows_of(std::span<const RunState* const> runs, std::size_t samples, std::size_t first,
                  std::size_t end);

}  // namespace dynet_like::detail
