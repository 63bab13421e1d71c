// Depths and counts of a graph, taken in one pass.
#include "batching/survey.h"

#include <algorithm>

namespace dynet_like::batching {

void take_survey(const Dag& dag, Survey& survey) {
  survey.depth.resize(dag.size());
  survey.consumers.assign(dag.size(), 0);
  survey.members.assign(dag.type_count, 0);
  survey.mean_depth.assign(dag.type_count, 0);
  std::uint32_t* const depth = survey.depth.data();
  std::uint32_t* const consumers = survey.consumers.data();
  const std::uint32_t* const inputs = dag.inputs.data();
  std::uint32_t levels = 0;
  for (std::size_t v = 0; v < dag.size(); ++v) {
    std::uint32_t level = 0;
    for (std::uint32_t e = dag.first_input[v], end = dag.first_input[v + 1]; e < end; ++e) {
      const std::uint32_t u = inputs[e];
      level = std::max(level, depth[u] + 1);
      ++consumers[u];
    }
    depth[v] = level;
    levels = std::max(levels, level + 1);
    ++survey.members[dag.type[v]];
    survey.mean_depth[dag.type[v]] += level;  // a sum of integers below 2^53: exact
  }
  survey.levels = levels;
  for (std::uint32_t t = 0; t < dag.type_count; ++t) {
    if (survey.members[t] != 0) survey.mean_depth[t] /= survey.members[t];
  }
}

}  // namespace dynet_like::batching
