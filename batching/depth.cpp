// Policy depth: nodes of one type and depth form a batch; levels run from the inputs on.
#include <numeric>

#include "batching/policies.h"

namespace dynet_like::batching {

void plan_depth(const Dag& dag, Scratch& scratch, Schedule& schedule) {
  // Two stable counting sorts, by type and then by level, keep recording order inside a batch.
  const auto& depth = scratch.survey.depth;
  auto& [by_type, offset] = scratch.depth;
  by_type.resize(dag.size());
  offset.resize(dag.type_count);
  std::exclusive_scan(scratch.survey.members.begin(), scratch.survey.members.end(), offset.begin(),
                      0u);
  for (std::uint32_t v = 0; v < dag.size(); ++v) by_type[offset[dag.type[v]]++] = v;

  offset.assign(scratch.survey.levels, 0);
  for (const std::uint32_t level : depth) ++offset[level];
  std::exclusive_scan(offset.begin(), offset.end(), offset.begin(), 0u);
  for (const std::uint32_t v : by_type) schedule.nodes[offset[depth[v]]++] = v;

  const auto& nodes = schedule.nodes;
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    const bool same =
        dag.type[nodes[i]] == dag.type[nodes[i - 1]] && depth[nodes[i]] == depth[nodes[i - 1]];
    if (!same) schedule.begin.push_back(i);
  }
  schedule.begin.push_back(static_cast<std::uint32_t>(nodes.size()));
}

}  // namespace dynet_like::batching
