// The batches of a run, as rows of a picture.
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
  std::string title;  ///< shown where the reader points at it
};

/// Nodes that ran in one kernel call.
struct BatchRow {
  std::size_t kind = 0;  ///< index into BatchRows::kinds
  std::uint64_t run = 0;
  std::size_t nodes = 0, samples = 0;
  bool shared = false;  ///< depends on parameters alone, and is computed once for all samples
  bool is_alone() const { return nodes == 1 && !shared; }
  std::map<std::uint32_t, std::vector<RowMark>> marks;  ///< by sample, for samples with columns
};

/// A type of nodes.
struct RowKind {
  std::string op, shapes;
};

struct BatchRows {
  std::vector<BatchRow> rows;  ///< by run; within a run, thread by thread
  std::vector<RowKind> kinds;
  std::size_t nodes = 0;
};

/// The rows of all lanes of a run. Rows from `first` to `end` have marks of the first `samples`.
BatchRows rows_of(std::span<const RunState* const> runs, std::size_t samples, std::size_t first,
                  std::size_t end);

}  // namespace dynet_like::detail
