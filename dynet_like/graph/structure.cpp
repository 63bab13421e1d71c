// Structure: checks vertices and finds their levels.
#include "dynet_like/graph/structure.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like {

namespace {

using detail::VertexKind, detail::Vertices;

// The number of entries in `columns`, or 1 if vertices read the same column in all matrices.
std::size_t matrices_of(std::span<const Structure::Vertex> vertices) {
  constexpr std::size_t kMost = 30;
  std::size_t matrices = 0;
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const std::size_t own = vertices[v].columns.size();
    if (own == 0) continue;
    if (own > kMost) {
      throw UsageError("[Structure] need at most " + detail::counted(kMost, "column") +
                       " per vertex; got " + std::to_string(own));
    }
    if (matrices != 0 && own != matrices) {
      throw UsageError("[Structure] need as many columns as other vertices have, " +
                       std::to_string(matrices) + "; got " + std::to_string(own) + " for vertex " +
                       std::to_string(v));
    }
    matrices = own;
  }
  return std::max<std::size_t>(matrices, 1);
}

// Adds the columns of a vertex. Returns a bit for each matrix that it reads.
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

// Numbers kinds in the order of appearance. Most structures have few kinds.
class KindNumbers {
 public:
  explicit KindNumbers(std::vector<VertexKind>& kinds) : kinds_(kinds) {}

  std::uint32_t of(const VertexKind& kind) {
    const auto size = static_cast<std::uint32_t>(kinds_.size());
    const auto few = std::min(size, kFew);
    const auto known = std::find(kinds_.begin(), kinds_.begin() + few, kind) - kinds_.begin();
    if (known < few) return static_cast<std::uint32_t>(known);
    std::uint32_t number = size;
    if (size >= kFew) number = numbers_.try_emplace(kind, size).first->second;
    if (number == size) kinds_.push_back(kind);
    return number;
  }

 private:
  static constexpr std::uint32_t kFew = 8;
  std::vector<VertexKind>& kinds_;
  std::map<VertexKind, std::uint32_t> numbers_;  ///< of kinds after the first few
};

void add_vertex(Vertices& all, KindNumbers& kinds, const Structure::Vertex& vertex) {
  all.kind.push_back(kinds.of({vertex.kind, static_cast<std::uint32_t>(vertex.predecessors.size()),
                               add_columns(all, vertex)}));
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

constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

// Sets the level of a vertex if the levels of its predecessors are known. Returns whether they are.
bool find_level(Vertices& all, std::uint32_t v) {
  std::uint32_t level = 0;
  for (const std::uint32_t before : all.predecessors_of(v)) {
    if (all.level[before] == kUnknown) return false;
    level = std::max(level, all.level[before] + 1);
  }
  all.level[v] = level;
  all.levels = std::max(all.levels, level + 1);
  return true;
}

// For vertices in any order: a vertex is settled when the last of its predecessors is.
void find_levels_in_any_order(Vertices& all) {
  std::vector<std::uint32_t> first{0}, successors(all.predecessors.size()), missing(all.size());
  for (const std::uint32_t count : all.successors) first.push_back(first.back() + count);
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1), settled;
  for (std::uint32_t v = 0; v < all.size(); ++v) {
    for (const std::uint32_t before : all.predecessors_of(v)) {
      successors[next[before]++] = v;
      missing[v] += all.level[before] == kUnknown ? 1 : 0;
    }
    if (missing[v] == 0 && all.level[v] == kUnknown) settled.push_back(v);
  }
  while (!settled.empty()) {
    const std::uint32_t v = settled.back();
    settled.pop_back();
    find_level(all, v);
    for (std::uint32_t i = first[v]; i < first[v + 1]; ++i) {
      if (--missing[successors[i]] == 0) settled.push_back(successors[i]);
    }
  }
}

// Usually all predecessors have smaller numbers, or all have larger ones: then one pass over the
// vertices is enough.
void find_levels(Vertices& all) {
  all.level.assign(all.size(), kUnknown);
  std::uint32_t unknown = all.size();
  for (std::uint32_t v = 0; v < all.size(); ++v) unknown -= find_level(all, v) ? 1 : 0;
  for (std::uint32_t v = all.size(); unknown > 0 && v-- > 0;) {
    if (all.level[v] == kUnknown) unknown -= find_level(all, v) ? 1 : 0;
  }
  if (unknown == 0) return;
  find_levels_in_any_order(all);
  const auto in_cycle = std::find(all.level.begin(), all.level.end(), kUnknown);
  if (in_cycle == all.level.end()) return;
  throw UsageError("[Structure] need vertices that do not depend on themselves; got vertex " +
                   std::to_string(in_cycle - all.level.begin()) +
                   ", which is in a cycle or behind one");
}

// Finds the order in which gradients are added: that of a program that calls the function vertex by
// vertex.
void find_order(Vertices& all) {
  bool ascends = true, descends = true;
  for (std::uint32_t v = 0; v < all.size(); ++v) {
    for (const std::uint32_t before : all.predecessors_of(v)) {
      (before < v ? descends : ascends) = false;
    }
  }
  if (ascends) return;
  all.in_order.resize(all.size());
  std::iota(all.in_order.begin(), all.in_order.end(), 0);
  if (descends) {
    std::ranges::reverse(all.in_order);
  } else {
    std::ranges::stable_sort(all.in_order, {}, [&](std::uint32_t v) { return all.level[v]; });
  }
  all.turn.resize(all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all.turn[all.in_order[i]] = i;
}

// A matrix may have any number of columns. If it has more columns than vertices, some are not read.
void count_columns(Vertices& all) {
  for (std::size_t i = 0; i < all.matrices.size(); ++i) {
    Vertices::Matrix& matrix = all.matrices[i];
    matrix.is_read_once = matrix.columns <= all.size();
    std::vector<bool> is_read(matrix.is_read_once ? matrix.columns : 0, false);
    std::size_t read = 0;
    for (std::uint32_t v = 0; v < all.size() && matrix.is_read_once; ++v) {
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
  constexpr std::size_t kMost = 1u << 28, kMostPredecessors = std::size_t{1} << 32;
  std::size_t predecessors = 0;
  for (const Vertex& vertex : vertices) predecessors += vertex.predecessors.size();
  if (vertices.size() >= kMost || predecessors >= kMostPredecessors) {
    throw UsageError(
        "[Structure] need fewer than 2^28 vertices, with fewer than 2^32 predecessors; "
        "got " +
        std::to_string(vertices.size()) + " and " + std::to_string(predecessors));
  }
  auto all = std::make_shared<Vertices>();
  all->matrices.resize(matrices_of(vertices));
  KindNumbers kinds(all->kinds);
  for (const Vertex& vertex : vertices) add_vertex(*all, kinds, vertex);
  count_successors(*all);
  find_levels(*all);
  find_order(*all);
  count_columns(*all);
  vertices_ = std::move(all);
}

namespace {

Structure make_sequence(unsigned n, bool reversed) {
  std::vector<Structure::Vertex> vertices(n);
  for (unsigned i = 0; i < n; ++i) {
    vertices[i].column = i;
    if (reversed && i + 1 < n) vertices[i].predecessors = {i + 1};
    if (!reversed && i > 0) vertices[i].predecessors = {i - 1};
  }
  return Structure(vertices);
}

// Every word of a text may be a sequence of characters, so a thread keeps the short ones.
Structure sequence_of(unsigned n, bool reversed) {
  constexpr unsigned kShort = 64;
  if (n >= kShort) return make_sequence(n, reversed);
  thread_local std::array<std::optional<Structure>, kShort> known[2];
  std::optional<Structure>& one = known[reversed ? 1 : 0][n];
  if (!one) one = make_sequence(n, reversed);
  return *one;
}

}  // namespace

Structure Structure::sequence(unsigned n) { return sequence_of(n, false); }
Structure Structure::reversed_sequence(unsigned n) { return sequence_of(n, true); }

unsigned Structure::size() const { return vertices_->size(); }

}  // namespace dynet_like
