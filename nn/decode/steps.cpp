// Masks of actions.
#include "nn/decode/steps.h"

#include <limits>
#include <string>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

Expression masked(const Expression& scores, ListOf<unsigned> allowed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ComputationGraph& graph = scores.graph("masked");
  const unsigned actions = scores.dim().rows();
  std::vector<float> most(actions, -kInfinity);
  for (const unsigned action : allowed) {
    if (action >= actions) {
      throw UsageError("[masked] need actions below " + std::to_string(actions) + "; got " +
                       std::to_string(action));
    }
    most[action] = kInfinity;
  }
  return min(scores, input(graph, Dim({actions}), most));
}

}  // namespace dynet_like::nn
