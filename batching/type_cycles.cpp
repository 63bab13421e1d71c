// Finds types that can follow themselves along a path: strongly connected components of types.
#include "batching/type_cycles.h"

#include <algorithm>
#include <bit>

namespace dynet_like::batching {
namespace {

constexpr std::uint64_t nothing = UINT64_MAX;

/// The edges between types, from the bit sets of the survey.
void unpack_edges(const Survey& survey, TypeCycles& cycles) {
  cycles.edges.clear();
  for (std::uint64_t to = 0; to < survey.input_types.size(); ++to) {
    for (std::uint64_t set = survey.input_types[to]; set != 0; set &= set - 1) {
      const auto from = static_cast<std::uint64_t>(std::countr_zero(set));
      cycles.edges.push_back(from << 32 | to);
    }
  }
}

/// The same from edges between nodes. A small cache drops most duplicates; others only cost time.
void collect_edges(const Dag& dag, TypeCycles& cycles) {
  constexpr std::size_t cache_size = 1024;
  cycles.seen.assign(cache_size, nothing);
  cycles.edges.clear();
  std::uint64_t* const seen = cycles.seen.data();
  const std::uint32_t* const type = dag.type.data();
  const std::uint32_t* const inputs = dag.inputs.data();
  for (std::size_t v = 0; v < dag.size(); ++v) {
    const std::uint64_t to = type[v];
    for (std::uint32_t e = dag.first_input[v], end = dag.first_input[v + 1]; e < end; ++e) {
      const std::uint64_t from = type[inputs[e]];
      const std::uint64_t edge = from << 32 | to;
      std::uint64_t& last = seen[(from * 32 + to) % cache_size];
      if (last == edge) continue;
      last = edge;
      cycles.edges.push_back(edge);
    }
  }
}

/// Sorts the edges into rows by their source.
void make_rows(std::uint32_t type_count, TypeCycles& cycles) {
  cycles.first_edge.assign(type_count + 1, 0);
  cycles.target.resize(cycles.edges.size());
  for (const std::uint64_t edge : cycles.edges) ++cycles.first_edge[edge >> 32];
  std::uint32_t end = 0;
  for (std::uint32_t& first : cycles.first_edge) first = end += first;
  for (const std::uint64_t edge : cycles.edges) {
    cycles.target[--cycles.first_edge[edge >> 32]] = static_cast<std::uint32_t>(edge);
  }
}

/// Takes the component with root `root` off the stack of open types. It is a cycle if it has
/// several types, or if its only type has an edge to itself.
void close_component(std::uint32_t root, const std::vector<std::uint32_t>& members,
                     TypeCycles& cycles) {
  const auto row = cycles.target.begin() + cycles.first_edge[root];
  const auto row_end = cycles.target.begin() + cycles.first_edge[root + 1];
  const bool is_cycle = cycles.open.back() != root || std::find(row, row_end, root) != row_end;
  const auto id = static_cast<std::uint32_t>(cycles.lanes.size());
  std::uint32_t lanes = 0;
  const std::uint32_t stage = --cycles.stages_left;  // consumers are closed first
  for (std::uint32_t type = TypeCycles::none; type != root;) {
    type = cycles.open.back();
    cycles.open.pop_back();
    cycles.low[type] = TypeCycles::none;  // closed
    cycles.stage[type] = stage;
    if (!is_cycle) continue;
    cycles.cycle[type] = id;
    if (members[type] > 1) cycles.lane[type] = lanes++;
  }
  if (!is_cycle) return;
  cycles.lanes.push_back(lanes);
  cycles.most_lanes = std::max(cycles.most_lanes, lanes);
}

/// Tarjan's algorithm from one type, with an explicit stack instead of recursion.
void visit_from(std::uint32_t start, std::uint32_t& visited,
                const std::vector<std::uint32_t>& members, TypeCycles& cycles) {
  auto& low = cycles.low;
  auto& path = cycles.path;
  const auto enter = [&](std::uint32_t type) {
    cycles.index[type] = low[type] = visited++;
    cycles.open.push_back(type);
    path.push_back({type, cycles.first_edge[type]});
  };
  enter(start);
  while (!path.empty()) {
    const std::uint32_t type = path.back().type;
    if (path.back().next_edge < cycles.first_edge[type + 1]) {
      const std::uint32_t next = cycles.target[path.back().next_edge++];
      if (cycles.index[next] == TypeCycles::none) {
        enter(next);
      } else if (low[next] != TypeCycles::none) {  // still open
        low[type] = std::min(low[type], cycles.index[next]);
      }
      continue;
    }
    path.pop_back();
    const std::uint32_t lowest = low[type];
    if (lowest == cycles.index[type]) close_component(type, members, cycles);
    if (!path.empty()) low[path.back().type] = std::min(low[path.back().type], lowest);
  }
}

}  // namespace

void find_type_cycles(const Dag& dag, const Survey& survey, TypeCycles& cycles) {
  if (survey.input_types.empty()) {
    collect_edges(dag, cycles);
  } else {
    unpack_edges(survey, cycles);
  }
  make_rows(dag.type_count, cycles);
  cycles.cycle.assign(dag.type_count, TypeCycles::none);
  cycles.lane.assign(dag.type_count, TypeCycles::none);
  cycles.index.assign(dag.type_count, TypeCycles::none);
  cycles.low.assign(dag.type_count, TypeCycles::none);
  cycles.stage.resize(dag.type_count);
  cycles.stages_left = dag.type_count;
  cycles.lanes.clear();
  cycles.most_lanes = 0;
  cycles.open.clear();
  cycles.path.clear();
  std::uint32_t visited = 0;
  for (std::uint32_t type = 0; type < dag.type_count; ++type) {
    if (cycles.index[type] == TypeCycles::none) visit_from(type, visited, survey.members, cycles);
  }
}

}  // namespace dynet_like::batching
