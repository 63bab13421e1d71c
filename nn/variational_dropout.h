// VariationalDropout: drops the same elements at every position of a sequence.
#pragma once

#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

/// Dropout with one mask per sequence, for inputs, outputs or states of a recurrent layer (Gal and
/// Ghahramani 2016): `const auto mask = dropout.start(graph, size)`, then `mask(x)` at every
/// position. The mask follows from the graph's seed.
class VariationalDropout {
 public:
  /// The mask of one sequence: multiplies elements by 0 with probability `rate` and else by 1 / (1
  /// - rate). For rate 0, and in inference, it returns x itself, without a node.
  class Mask {
   public:
    /// Shapes: {size} or {size, n}. Throws ShapeError unless x fits.
    Expression operator()(const Expression& x) const;

   private:
    friend class VariationalDropout;

    Expression factors_;  ///< empty: returns x
  };

  /// Throws UsageError unless 0 <= rate < 1.
  explicit VariationalDropout(float rate);

  /// The mask for a new sequence of vectors of this size. Throws UsageError where `dropout` does.
  Mask start(ComputationGraph& graph, unsigned size) const;

  float rate() const { return rate_; }

 private:
  float rate_;
};

}  // namespace dynet_like::nn
