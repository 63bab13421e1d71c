// Plans the batches of a graph: calls the policies.
#include "batching/planner.h"

#include <cassert>

#include "batching/policies.h"
#include "batching/scratch.h"

namespace dynet_like::batching {

Planner::Planner() : scratch_(std::make_unique<Scratch>()) {}
Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

const Schedule& Planner::plan(const Dag& dag, Policy policy) {
  assert(dag.size() == 0 || dag.first_input.size() == dag.size() + 1);
  Schedule& schedule = scratch_->schedule;
  schedule.nodes.resize(dag.size());
  schedule.begin.assign(1, 0);
  schedule.bound = 0;
  if (dag.size() == 0) return schedule;
  if (policy != Policy::none) take_survey(dag, scratch_->survey);
  scratch_->ready.forget();
  switch (policy) {
    case Policy::none:
      plan_none(dag, schedule);
      break;
    case Policy::depth:
      plan_depth(dag, *scratch_, schedule);
      break;
    case Policy::agenda:
      plan_agenda(dag, *scratch_, schedule);
      break;
    case Policy::descent:
      plan_descent(dag, *scratch_, schedule);
      break;
    case Policy::automatic:
      plan_auto(dag, *scratch_, schedule);
      break;
  }
  return schedule;
}

}  // namespace dynet_like::batching
