// The structure of a recursion: its vertices, and what each of them reads.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like::detail {

/// What vertices have in common that run alike.
struct VertexKind {
  std::uint32_t number = 0;  ///< the user's
  std::uint32_t predecessors = 0;
  bool reads_column = false;

  auto operator<=>(const VertexKind&) const = default;
};

/// Predecessors come before their successors.
struct Vertices {
  static constexpr std::uint32_t kNoColumn = ~std::uint32_t{0};

  std::vector<VertexKind> kinds;                    ///< that there are
  std::vector<std::uint32_t> kind, level, column;   ///< by vertex; the kind is one of those
  std::vector<std::uint32_t> first_predecessor{0};  ///< by vertex and one more, into predecessors
  std::vector<std::uint32_t> predecessors;
  std::vector<std::uint32_t> successors;  ///< by vertex: how many
  std::uint32_t levels = 0, columns = 0;  ///< columns that the inputs must have
  std::uint32_t roots = 0;                ///< vertices without predecessors
  bool reads_columns_once = true;         ///< each of them

  std::uint32_t size() const { return static_cast<std::uint32_t>(kind.size()); }
  std::span<const std::uint32_t> predecessors_of(std::uint32_t vertex) const {
    return std::span(predecessors)
        .subspan(first_predecessor[vertex],
                 first_predecessor[vertex + 1] - first_predecessor[vertex]);
  }
};

}  // namespace dynet_like::detail
