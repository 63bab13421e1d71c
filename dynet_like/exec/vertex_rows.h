// The vertices of a batch of recursions, sorted into rows that run together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/program/recursion_op.h"

namespace dynet_like::detail {

/// The rows from `begin` to `end` - 1.
struct RowRange {
  std::uint32_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Each kind of vertices runs one program; its vertices are rows. The rows of the first level come
/// first, in the order of samples and vertices, then those of the next level. A repeated vertex,
/// one that would compute what another one computes, has no row.
class VertexRows {
 public:
  using Structures = std::vector<std::shared_ptr<const Vertices>>;

  /// A vertex of a sample.
  struct Row {
    std::uint32_t sample = 0, vertex = 0;

    bool operator==(const Row&) const = default;
  };
  /// The kind of a vertex, and its row there.
  struct RowOfKind {
    std::uint32_t kind = 0, row = 0;
  };
  struct Kind {
    const Program* program = nullptr;
    std::vector<Row> rows;
    std::vector<RowRange> levels;  ///< by level, from the first one on: its rows
    std::vector<Row> before;       ///< by row: its predecessors

    RowRange all_rows() const { return {0, static_cast<std::uint32_t>(rows.size())}; }
    std::size_t widest_level() const;
  };
  /// The rows of a level that are of one kind.
  struct OfKind {
    std::uint32_t kind = 0;
    RowRange rows;
  };

  VertexRows() = default;
  /// There must be one structure for each sample. `first`: see find_repeated; empty: no vertex is
  /// repeated.
  VertexRows(const RecursionOp& op, Structures structures, std::vector<Row> first = {});

  const Vertices& structure(std::size_t sample) const { return *structures_[sample]; }
  /// The kinds that occur, in the order of the op's programs.
  std::span<const Kind> kinds() const { return kinds_; }
  std::uint32_t levels() const { return levels_; }
  std::span<const OfKind> of_level(std::uint32_t level) const {
    return std::span(of_level_).subspan(level_begin_[level],
                                        level_begin_[level + 1] - level_begin_[level]);
  }
  /// Whether there may be repeated vertices.
  bool repeats() const { return !first_.empty(); }
  std::size_t vertices() const { return row_of_.size(); }  ///< of all samples
  /// Counts the vertices of all samples.
  std::size_t index(const Row& row) const { return first_vertex_[row.sample] + row.vertex; }
  /// The vertex that computes the value of a vertex: itself, unless it is repeated.
  Row first(const Row& row) const { return first_.empty() ? row : first_[index(row)]; }
  /// The row of a vertex, which must not be repeated.
  const RowOfKind& row_of(const Row& row) const { return row_of_[index(row)]; }
  /// Calls visit(vertex) for the vertices of all samples, repeated or not.
  template <class Visit>
  void for_each_vertex(const Visit& visit) const {
    for (std::uint32_t s = 0; s < structures_.size(); ++s) {
      for (std::uint32_t v = 0; v < structures_[s]->size(); ++v) visit(Row{s, v});
    }
  }
  /// How often rows read the states of a vertex, which must not be repeated.
  std::uint32_t readers(const Row& row) const {
    return repeats() ? readers_[index(row)] : structures_[row.sample]->successors[row.vertex];
  }

 private:
  void find_kinds(const RecursionOp& op);
  void sort();
  void add_row(Kind& kind, const Row& row);

  Structures structures_;
  std::vector<Row> first_;                   ///< by vertex of all samples
  std::vector<std::uint32_t> first_vertex_;  ///< by sample
  std::vector<RowOfKind> row_of_;            ///< by vertex of all samples
  std::vector<std::uint32_t> readers_;       ///< the same, if vertices may be repeated
  std::vector<Kind> kinds_;
  std::vector<OfKind> of_level_;
  std::vector<std::uint32_t> level_begin_{0};  ///< by level, plus an end: index in of_level_
  std::uint32_t levels_ = 0;
};

}  // namespace dynet_like::detail
