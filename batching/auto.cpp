// Policy auto: descent, unless it would be slow; where it misses the bound, the best of all.
//
// Descent walks over the graph once for every 32 types of one cycle of types (most models have far
// fewer). Beyond most_sweeps of these it is left out, and depth and agenda compete alone. If its
// number of batches is the lower bound, nothing can be better; else depth and agenda are planned
// too. Ties go to descent, then to agenda.
#include <utility>

#include "batching/policies.h"

namespace dynet_like::batching {
namespace {

constexpr std::uint32_t most_sweeps = 4;

using Plan = void (*)(const Dag&, Scratch&, Schedule&);

void keep_better(const Dag& dag, Plan plan, Scratch& scratch, Schedule& best) {
  Schedule& other = scratch.alternative;
  other.nodes.resize(dag.size());
  other.begin.assign(1, 0);
  plan(dag, scratch, other);
  other.bound = best.bound;
  if (other.size() < best.size()) std::swap(other, best);
}

}  // namespace

void plan_auto(const Dag& dag, Scratch& scratch, Schedule& schedule) {
  find_type_cycles(dag, scratch.survey, scratch.cycles);
  if (sweeps_for(scratch.cycles) <= most_sweeps) {
    descend(dag, scratch, schedule);
    if (schedule.size() == schedule.bound) return;
    keep_better(dag, plan_agenda, scratch, schedule);
  } else {
    plan_agenda(dag, scratch, schedule);
  }
  keep_better(dag, plan_depth, scratch, schedule);
}

}  // namespace dynet_like::batching
