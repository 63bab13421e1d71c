// Depths and counts of a graph, computed in one pass.
#include "batching/survey.h"

#include <algorithm>

namespace dynet_like::batching {

void take_survey(const Dag& dag, Survey& survey) {
  constexpr std::uint32_t bits = 64;
  survey.depth.resize(dag.size());
  survey.consumers.assign(dag.size(), 0);
  survey.members.assign(dag.type_count, 0);
  survey.input_types.assign(dag.type_count, 0);
  survey.depth_sum.assign(dag.type_count, 0);
  survey.mean_depth.assign(dag.type_count, 0);
  std::uint32_t* const depth = survey.depth.data();
  std::uint32_t* const consumers = survey.consumers.data();
  const std::uint32_t* const type = dag.type.data();
  const std::uint32_t* const inputs = dag.inputs.data();
  std::uint32_t levels = 0;
  for (std::size_t v = 0; v < dag.size(); ++v) {
    std::uint32_t level = 0;
    std::uint64_t input_types = 0;
    for (std::uint32_t e = dag.first_input[v], end = dag.first_input[v + 1]; e < end; ++e) {
      const std::uint32_t u = inputs[e];
      level = std::max(level, depth[u] + 1);
      input_types |= std::uint64_t{1} << type[u] % bits;
      ++consumers[u];
    }
    depth[v] = level;
    levels = std::max(levels, level + 1);
    ++survey.members[type[v]];
    survey.depth_sum[type[v]] += level;
    survey.input_types[type[v]] |= input_types;
  }
  survey.levels = levels;
  for (std::uint32_t t = 0; t < dag.type_count; ++t) {
    if (survey.members[t] == 0) continue;
    // Integers below 2^53: exact.
    survey.mean_depth[t] = static_cast<double>(survey.depth_sum[t]) / survey.members[t];
  }
  if (dag.type_count > bits) survey.input_types.clear();
}

}  // namespace dynet_like::batching
