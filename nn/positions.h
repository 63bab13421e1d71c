// Positions: vectors that encode the position of an element in its sequence.
#pragma once

#include <vector>

#include "nn/embedding.h"

namespace dynet_like::nn {

// Both layers add a vector to each column of a sequence. The first column has position `first`, for
// sequences that are read in parts. They throw ShapeError unless x is {size} or {size, n}, and
// UsageError for positions past the last one.

/// Sines and cosines (Vaswani et al. 2017, section 3.5): at position p, element 2 i is
/// sin(p / 10000^(2 i / size)) and element 2 i + 1 the cosine of the same. No parameters.
class SinusoidalPositions {
 public:
  /// Throws ShapeError for no positions or size 0.
  SinusoidalPositions(unsigned positions, unsigned size);

  /// Shapes: {size, n} -> {size, n}.
  Expression operator()(const Expression& x, unsigned first = 0) const;

 private:
  unsigned size_;
  std::vector<float> values_;
};

/// Learned vectors (Gehring et al. 2017).
class LearnedPositions {
 public:
  /// Adds an Embedding, the table "E" with a row per position, to a subcollection of `model`.
  /// Throws ShapeError for no positions or size 0.
  LearnedPositions(ParameterCollection& model, unsigned positions, unsigned size,
                   const LayerOptions& options = {});

  /// Shapes: {size, n} -> {size, n}.
  Expression operator()(const Expression& x, unsigned first = 0) const;

 private:
  Embedding vectors_;
};

}  // namespace dynet_like::nn
