// Computes 1 + 2 by a graph.
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

int main() {
  dynet_like::ComputationGraph graph;
  const auto sum = dynet_like::input(graph, 1.0f) + dynet_like::input(graph, 2.0f);
  return dynet_like::as_scalar(sum.value()) == 3 ? 0 : 1;
}
