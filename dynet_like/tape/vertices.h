// The structure of a recursion: its vertices, and what each of them reads.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like::detail {

/// The common facts of vertices that run together.
struct VertexKind {
  std::uint32_t number = 0;  ///< the number that the user chose
  std::uint32_t predecessors = 0;
  /// Bit i: the vertex reads a column of input matrix i. All bits: of every matrix.
  std::uint32_t reads = 0;
  static constexpr std::uint32_t kReadsAll = ~std::uint32_t{0};

  bool reads_matrix(std::size_t i) const {
    return reads == kReadsAll || (i < 32 && (reads >> i & 1) != 0);
  }

  auto operator<=>(const VertexKind&) const = default;
};

struct Vertices {
  static constexpr std::uint32_t kNoColumn = ~std::uint32_t{0};

  /// How vertices read an input matrix.
  struct Matrix {
    std::uint32_t columns = 0;  ///< the number of columns that it must have
    bool is_read_once = true;   ///< whether each column is read once
  };

  std::vector<VertexKind> kinds;           ///< all kinds that occur
  std::vector<std::uint32_t> kind, level;  ///< by vertex; the kind is an index in `kinds`
  std::vector<std::uint32_t> column;       ///< by vertex and matrix
  /// A single entry stands for any number of matrices: a vertex then reads the same column of all.
  std::vector<Matrix> matrices;
  std::vector<std::uint32_t> first_predecessor{0};  ///< by vertex, plus an end: into predecessors
  std::vector<std::uint32_t> predecessors;
  std::vector<std::uint32_t> successors;  ///< by vertex: the number of successors
  /// The order in which a program would compute one vertex after the other, predecessors first: in
  /// the order of numbers (then both lists are empty), in reverse, or level by level. `in_order`
  /// has vertices by turn, `turn` has turns by vertex.
  std::vector<std::uint32_t> in_order, turn;
  std::uint32_t levels = 0;
  std::uint32_t roots = 0;  ///< vertices without predecessors

  std::uint32_t size() const { return static_cast<std::uint32_t>(kind.size()); }
  std::uint32_t turn_of(std::uint32_t vertex) const { return turn.empty() ? vertex : turn[vertex]; }
  std::uint32_t vertex_at(std::uint32_t its_turn) const {
    return in_order.empty() ? its_turn : in_order[its_turn];
  }
  const Matrix& matrix(std::size_t input) const {
    return matrices[matrices.size() == 1 ? 0 : input];
  }
  std::uint32_t column_of(std::uint32_t vertex, std::size_t input) const {
    return matrices.size() == 1 ? column[vertex] : column[vertex * matrices.size() + input];
  }
  std::span<const std::uint32_t> predecessors_of(std::uint32_t vertex) const {
    return std::span(predecessors)
        .subspan(first_predecessor[vertex],
                 first_predecessor[vertex + 1] - first_predecessor[vertex]);
  }
};

}  // namespace dynet_like::detail
