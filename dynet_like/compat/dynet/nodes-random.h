// DyNet's nodes-random.h. Random numbers, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct GaussianNoise : detail::FunctionNode {
  explicit GaussianNoise(real stddev)
      : FunctionNode(1, [=](const Arguments& xs) { return noise(xs[0], stddev); }) {}
};
struct RandomNormal : detail::SourceNode {
  explicit RandomNormal(const Dim& d, float mean = 0.0f, float stddev = 1.0f)
      : SourceNode([=](ComputationGraph& graph) { return random_normal(graph, d, mean, stddev); }) {
  }
};
struct RandomBernoulli : detail::SourceNode {
  RandomBernoulli(const Dim& d, real p, real scale = 1.0f)
      : SourceNode([=](ComputationGraph& graph) { return random_bernoulli(graph, d, p, scale); }) {}
};
struct RandomUniform : detail::SourceNode {
  RandomUniform(const Dim& d, real left, real right)
      : SourceNode([=](ComputationGraph& graph) { return random_uniform(graph, d, left, right); }) {
  }
};
struct RandomGumbel : detail::SourceNode {
  explicit RandomGumbel(const Dim& d, real mu = 0.0f, real beta = 1.0f)
      : SourceNode([=](ComputationGraph& graph) { return random_gumbel(graph, d, mu, beta); }) {}
};

}  // namespace dynet
