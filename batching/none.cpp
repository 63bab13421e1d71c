// Policy none: every node is a batch of its own, in recording order.
#include <numeric>

#include "batching/policies.h"

namespace dynet_like::batching {

void plan_none(const Dag& dag, Schedule& schedule) {
  std::iota(schedule.nodes.begin(), schedule.nodes.end(), 0u);
  schedule.begin.resize(dag.size() + 1);
  std::iota(schedule.begin.begin(), schedule.begin.end(), 0u);
}

}  // namespace dynet_like::batching
