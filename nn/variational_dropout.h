// VariationalDropout: the same random zeros at every position of a sequence.
#pragma once

#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

/// Dropout with one mask per sequence, for inputs, outputs or states of a recurrent layer (Gal and
/// Ghahramani 2016): `const auto mask = dropout.start(graph, size)`, then `mask(x)` at every
/// position. The numbers follow from the graph's seed.
class VariationalDropout {
 public:
  /// Of one sequence: it multiplies by 0 with probability `rate` and else by 1 / (1 - rate). For
  /// rate 0, and in a graph of inference, it gives x itself, without a node.
  class Mask {
   public:
    /// Shapes: {size} or {size, n}. Throws ShapeError unless x fits.
    Expression operator()(const Expression& x) const;

   private:
    friend class VariationalDropout;

    Expression factors_;  ///< empty where there are none
  };

  /// Throws UsageError unless 0 <= rate < 1.
  explicit VariationalDropout(float rate);

  /// The mask of a new sequence of vectors of this size. Throws UsageError where dropout does.
  Mask start(ComputationGraph& graph, unsigned size) const;

  float rate() const { return rate_; }

 private:
  float rate_;
};

}  // namespace dynet_like::nn
