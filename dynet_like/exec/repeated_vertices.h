// Finds vertices that compute what another vertex of their batch computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/vertex_rows.h"

namespace dynet_like::detail {

/// For each vertex of all samples the first one that has its value, bit for bit: that runs the same
/// program on columns with the same bits and on the values of the same vertices. Itself if there is
/// none, and if its program draws random numbers. `columns`: the places of the inputs that have
/// columns, by sample and input.
std::vector<VertexRows::Row> find_repeated(const RecursionOp& op,
                                           const VertexRows::Structures& structures,
                                           std::span<const std::byte* const> columns);

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
