// Policy agenda: always runs the type with the smallest mean depth among the types with ready
// nodes. Neubig, Goldberg, Dyer: On-the-fly Operation Batching in Dynamic Computation Graphs, 2017.
// The mean is over all nodes of the type in the graph; it does not change while nodes run.
#include <algorithm>
#include <functional>

#include "batching/policies.h"

namespace dynet_like::batching {

void plan_agenda(const Dag& dag, Scratch& scratch, Schedule& schedule) {
  ReadyNodes& ready = scratch.ready;
  auto& turns = scratch.turns;
  turns.clear();
  ready.reset(dag, scratch.survey, [](std::uint32_t, std::uint32_t) { return 0u; });
  const double* const mean_depth = scratch.survey.mean_depth.data();
  const auto on_ready = [&](const ReadyNodes::Node& node, bool first) {
    if (!first) return;
    turns.emplace_back(mean_depth[node.type], node.type);
    std::push_heap(turns.begin(), turns.end(), std::greater<>());
  };
  ready.release_sources(on_ready);
  while (!turns.empty()) {
    std::pop_heap(turns.begin(), turns.end(), std::greater<>());
    const std::uint32_t type = turns.back().second;
    turns.pop_back();
    ready.take(type, schedule);
    ready.release_consumers(on_ready);
  }
}

}  // namespace dynet_like::batching
