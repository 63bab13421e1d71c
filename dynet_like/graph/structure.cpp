// Checking structures, and finding their levels.
#include "dynet_like/graph/structure.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like {

namespace {

using detail::VertexKind, detail::Vertices;

// The matrices that vertices tell apart, or 1 if they read the same column of all.
std::size_t matrices_of(std::span<const Structure::Vertex> vertices) {
  constexpr std::size_t kMost = 30;
  std::size_t matrices = 0;
  for (const Structure::Vertex& vertex : vertices) {
    const std::size_t own = vertex.columns.size();
    if (own == 0) continue;
    if (own > kMost || (matrices != 0 && own != matrices)) {
      throw UsageError("[Structure] need a column for each input matrix, of which there may be " +
                       std::to_string(matrices == 0 ? kMost : matrices) + "; got " +
                       detail::counted(own, "column"));
    }
    matrices = own;
  }
  return std::max<std::size_t>(matrices, 1);
}

// Bits of the matrices that it reads, whose columns are added.
std::uint32_t add_columns(Vertices& all, const Structure::Vertex& vertex) {
  std::uint32_t reads = 0;
  for (std::size_t i = 0; i < all.matrices.size(); ++i) {
    const std::uint32_t column = vertex.columns.empty() ? vertex.column : vertex.columns[i];
    all.column.push_back(column);
    if (column == Structure::kNoColumn) continue;
    all.matrices[i].columns = std::max(all.matrices[i].columns, column + 1);
    reads |= std::uint32_t{1} << i;
  }
  return all.matrices.size() == 1 && reads != 0 ? VertexKind::kReadsAll : reads;
}

void add_vertex(Vertices& all, const Structure::Vertex& vertex) {
  const VertexKind kind{vertex.kind, static_cast<std::uint32_t>(vertex.predecessors.size()),
                        add_columns(all, vertex)};
  auto known = std::find(all.kinds.begin(), all.kinds.end(), kind);
  if (known == all.kinds.end()) known = all.kinds.insert(known, kind);
  all.kind.push_back(static_cast<std::uint32_t>(known - all.kinds.begin()));
  if (vertex.predecessors.empty()) ++all.roots;
  all.predecessors.insert(all.predecessors.end(), vertex.predecessors.begin(),
                          vertex.predecessors.end());
  all.first_predecessor.push_back(static_cast<std::uint32_t>(all.predecessors.size()));
}

void count_successors(Vertices& all) {
  all.successors.assign(all.size(), 0);
  for (std::uint32_t v = 0; v < all.size(); ++v) {
    for (std::uint32_t before : all.predecessors_of(v)) {
      if (before >= all.size()) {
        throw UsageError("[Structure] need predecessors among the " +
                         detail::counted(all.size(), "vertex", "vertices") + "; got vertex " +
                         std::to_string(before) + " before vertex " + std::to_string(v));
      }
      ++all.successors[before];
    }
  }
}

// Mostly predecessors have smaller numbers, or all have larger ones: then one way through all
// vertices is enough. Every other way settles one more at least, unless there is a cycle.
void find_levels(Vertices& all) {
  constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  all.level.assign(all.size(), kUnknown);
  std::uint32_t known = 0;
  const auto settle = [&](std::uint32_t v) {
    if (all.level[v] != kUnknown) return;
    std::uint32_t level = 0;
    for (std::uint32_t before : all.predecessors_of(v)) {
      if (all.level[before] == kUnknown) return;
      level = std::max(level, all.level[before] + 1);
    }
    all.level[v] = level;
    all.levels = std::max(all.levels, level + 1);
    ++known;
  };
  for (std::uint32_t before = kUnknown; known < all.size() && known != before;) {
    before = known;
    for (std::uint32_t v = 0; v < all.size(); ++v) settle(v);
    for (std::uint32_t v = all.size(); v-- > 0;) settle(v);
  }
  if (known == all.size()) return;
  const auto in_cycle = std::find(all.level.begin(), all.level.end(), kUnknown);
  throw UsageError("[Structure] need vertices that do not depend on themselves; got vertex " +
                   std::to_string(in_cycle - all.level.begin()) +
                   ", which is in a cycle or behind one");
}

void count_columns(Vertices& all) {
  for (std::size_t i = 0; i < all.matrices.size(); ++i) {
    Vertices::Matrix& matrix = all.matrices[i];
    std::vector<bool> is_read(matrix.columns, false);
    std::size_t read = 0;
    for (std::uint32_t v = 0; v < all.size(); ++v) {
      const std::uint32_t column = all.column_of(v, i);
      if (column == Vertices::kNoColumn) continue;
      ++read;
      if (is_read[column]) matrix.is_read_once = false;
      is_read[column] = true;
    }
    if (read != matrix.columns) matrix.is_read_once = false;
  }
}

}  // namespace

Structure::Structure(std::span<const Vertex> vertices) {
  constexpr std::size_t kMost = 1u << 28;
  if (vertices.size() >= kMost) {
    throw UsageError("[Structure] need fewer than 2^28 vertices; got " +
                     std::to_string(vertices.size()));
  }
  auto all = std::make_shared<Vertices>();
  all->matrices.resize(matrices_of(vertices));
  for (const Vertex& vertex : vertices) add_vertex(*all, vertex);
  count_successors(*all);
  find_levels(*all);
  count_columns(*all);
  vertices_ = std::move(all);
}

Structure Structure::sequence(unsigned n) {
  std::vector<unsigned> before(n);
  std::vector<Vertex> vertices(n);
  for (unsigned i = 0; i < n; ++i) {
    before[i] = i - 1;
    vertices[i] = {std::span(before).subspan(i, i == 0 ? 0 : 1), i, 0};
  }
  return Structure(vertices);
}

Structure Structure::reversed_sequence(unsigned n) {
  std::vector<unsigned> before(n);
  std::vector<Vertex> vertices(n);
  for (unsigned i = 0; i < n; ++i) {
    before[i] = i + 1;
    vertices[i] = {std::span(before).subspan(i, i + 1 == n ? 0 : 1), i, 0};
  }
  return Structure(vertices);
}

unsigned Structure::size() const { return vertices_->size(); }

}  // namespace dynet_like
