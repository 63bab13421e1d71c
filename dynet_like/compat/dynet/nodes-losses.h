// DyNet's nodes-losses.h. Losses, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct BinaryLogLoss : detail::BinaryNode<binary_log_loss> {};
struct PairwiseRankLoss : detail::FunctionNode {
  explicit PairwiseRankLoss(real margin = 1.0f)
      : FunctionNode(
            2, [=](const Arguments& xs) { return pairwise_rank_loss(xs[0], xs[1], margin); }) {}
};
struct PoissonRegressionLoss : detail::FunctionNode {
  explicit PoissonRegressionLoss(unsigned y)
      : FunctionNode(1, [=](const Arguments& xs) { return poisson_loss(xs[0], y); }) {}
  explicit PoissonRegressionLoss(const unsigned* y)
      : FunctionNode(1, [=](const Arguments& xs) { return poisson_loss(xs[0], y); }) {}
};

}  // namespace dynet
