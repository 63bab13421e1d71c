// Policy auto: descent, or agenda if descent would be slow. If that misses the bound, depth if
// better.
//
// Descent walks over the graph once for every 32 types of one cycle of types (most models have far
// fewer). If that takes more than most_sweeps walks, agenda replaces it. Unless the lower bound is
// reached, depth is planned, too, where it has fewer batches: it does for some samples without
// common structure, and the bound of memory_limit relies on there being no more than depth has.
// Finally, nodes that no others wait for are moved to the end.
#include <numeric>
#include <utility>
#include <vector>

#include "batching/policies.h"

namespace dynet_like::batching {
namespace {

constexpr std::uint32_t most_sweeps = 4;

void take_depth_if_better(const Dag& dag, Scratch& scratch, Schedule& best) {
  Schedule& other = scratch.alternative;
  other.nodes.resize(dag.size());
  other.begin.assign(1, 0);
  plan_depth(dag, scratch, other);
  other.bound = best.bound;
  if (other.size() < best.size()) std::swap(other, best);
}

/// Whether the depth policy would have at least `batches` batches: it has one per type and level in
/// use. Counting these is cheaper than planning, unless there are very many types and levels.
bool depth_is_no_better(const Dag& dag, Scratch& scratch, std::size_t batches) {
  const std::size_t levels = scratch.survey.levels, pairs = dag.type_count * levels;
  if (pairs > 4 * dag.size()) return false;
  std::vector<std::uint8_t>& used = scratch.used_levels;
  used.assign(pairs, 0);
  for (std::size_t v = 0; v < dag.size(); ++v) {
    used[dag.type[v] * levels + scratch.survey.depth[v]] = 1;
  }
  return std::accumulate(used.begin(), used.end(), std::size_t{0}) >= batches;
}

}  // namespace

void plan_auto(const Dag& dag, Scratch& scratch, Schedule& schedule) {
  find_type_cycles(dag, scratch.survey, scratch.cycles);
  if (sweeps_for(scratch.cycles) <= most_sweeps) {
    descend(dag, scratch, schedule);
    if (schedule.size() == schedule.bound) return;
  } else {
    plan_agenda(dag, scratch, schedule);
  }
  if (!depth_is_no_better(dag, scratch, schedule.size())) {
    take_depth_if_better(dag, scratch, schedule);
  }
  gather_sinks(dag, scratch, schedule);
}

}  // namespace dynet_like::batching
