// Sorts vertices by kind and level.
#include "dynet_like/exec/vertex_rows.h"

#include <algorithm>

namespace dynet_like::detail {

std::size_t VertexRows::Kind::widest_level() const {
  std::size_t widest = 0;
  for (const RowRange& level : levels) widest = std::max(widest, level.size());
  return widest;
}

VertexRows::VertexRows(const RecursionOp& op, Structures structures, std::vector<Row> first)
    : structures_(std::move(structures)), first_(std::move(first)) {
  std::uint32_t vertices = 0;
  for (const auto& structure : structures_) {
    first_vertex_.push_back(vertices);
    vertices += structure->size();
    levels_ = std::max(levels_, structure->levels);
  }
  row_of_.resize(vertices);
  if (repeats()) readers_.resize(vertices);
  find_kinds(op);
  sort();
}

// Finds the kinds in these structures, among all that the op knows, and the kind of each vertex.
void VertexRows::find_kinds(const RecursionOp& op) {
  std::vector<std::size_t> programs;  // indices, sample by sample
  for (const auto& structure : structures_) {
    for (const VertexKind& kind : structure->kinds) programs.push_back(op.index_of(kind));
  }
  std::vector<std::size_t> met = programs;
  std::ranges::sort(met);
  met.erase(std::unique(met.begin(), met.end()), met.end());
  for (const std::size_t index : met) kinds_.emplace_back().program = op.programs[index].get();
  const auto number_of = [&](std::size_t index) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(met, index) - met.begin());
  };
  std::vector<std::uint32_t> numbers(programs.size());
  std::ranges::transform(programs, numbers.begin(), number_of);
  const std::uint32_t* number = numbers.data();
  RowOfKind* row = row_of_.data();
  for (const auto& structure : structures_) {
    for (const std::uint32_t kind : structure->kind) (row++)->kind = number[kind];
    number += structure->kinds.size();
  }
}

// A counting sort by level.
void VertexRows::sort() {
  std::vector<std::uint32_t> begin(levels_ + 1, 0), rows(kinds_.size(), 0);
  const auto for_rows = [&](const auto& f) {
    for_each_vertex([&](const Row& row) {
      if (first(row) == row) f(row, structures_[row.sample]->level[row.vertex]);
    });
  };
  for_rows([&](const Row&, std::uint32_t level) { ++begin[level + 1]; });
  for (std::uint32_t l = 0; l < levels_; ++l) begin[l + 1] += begin[l];
  std::vector<Row> by_level(begin[levels_]);
  std::vector<std::uint32_t> next = begin;
  for_rows([&](const Row& row, std::uint32_t level) {
    by_level[next[level]++] = row;
    ++rows[row_of_[index(row)].kind];
  });
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    kinds_[k].rows.reserve(rows[k]);
    kinds_[k].before.reserve(std::size_t{rows[k]} * kinds_[k].program->kind.predecessors);
  }
  std::vector<std::uint32_t> kinds;  // of a level
  std::vector<std::uint32_t> last_level(kinds_.size(), 0);
  for (std::uint32_t level = 0; level < levels_; ++level) {
    kinds.clear();
    for (std::uint32_t i = begin[level]; i < begin[level + 1]; ++i) {
      RowOfKind& row = row_of_[index(by_level[i])];
      Kind& kind = kinds_[row.kind];
      row.row = static_cast<std::uint32_t>(kind.rows.size());
      if (last_level[row.kind] != level + 1) {
        last_level[row.kind] = level + 1;
        kind.levels.push_back({row.row, row.row});
        kinds.push_back(row.kind);
      }
      add_row(kind, by_level[i]);
    }
    std::ranges::sort(kinds);
    for (const std::uint32_t k : kinds) of_level_.push_back({k, kinds_[k].levels.back()});
    level_begin_.push_back(static_cast<std::uint32_t>(of_level_.size()));
  }
}

void VertexRows::add_row(Kind& kind, const Row& row) {
  kind.rows.push_back(row);
  ++kind.levels.back().end;
  for (const std::uint32_t before : structures_[row.sample]->predecessors_of(row.vertex)) {
    kind.before.push_back(first({row.sample, before}));
    if (repeats()) ++readers_[index(kind.before.back())];
  }
}

}  // namespace dynet_like::detail
