// Finds vertices that compute what another vertex of their batch computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/vertex_rows.h"

namespace dynet_like::detail {

/// An input that has columns.
struct ColumnSource {
  const std::byte* place = nullptr;
  bool blocks_gradient = false;
  /// With share_repeated, the table of which each column is a row, and these rows; empty if there
  /// is none.
  Identity table = 0;
  std::span<const std::uint32_t> rows = {};
};

/// Columns are the same if their bits are, or if they are one row of a table or lie at one place:
/// then a gradient may go to any of them.
enum class SameColumns { bits, origins };

/// For each vertex of all samples the first one that has its value, bit for bit: that runs the same
/// program on the same columns and on the values of the same vertices. Itself if there is none, and
/// if its program draws random numbers. `columns`: by sample and input.
std::vector<VertexRows::Row> find_repeated(const RecursionOp& op,
                                           const VertexRows::Structures& structures,
                                           std::span<const ColumnSource> columns, SameColumns same);

/// Decides which batches are searched for repeated vertices: where few are found, every 16th.
class RepeatSearches {
 public:
  /// Must be called once for each batch.
  bool begin(const RecursionOp& op);
  /// What a search of `all` vertices found.
  void end(const RecursionOp& op, std::size_t found, std::size_t all);

 private:
  struct OfOp {
    const RecursionOp* op;
    std::uint32_t pause;
  };
  OfOp& of(const RecursionOp& op);

  std::vector<OfOp> ops_;
};

}  // namespace dynet_like::detail
