// Rotation: rotary positions.
#pragma once

#include "dynet_like/graph/expression.h"
#include "nn/encoders/encoder_config.h"

namespace dynet_like::nn::encoders {

/// Turns queries and keys by angles that grow with their positions (Su et al. 2021): rows r and r +
/// h / 2 of a head of h rows are the coordinates of a point, which position p turns by p / theta^(2
/// r / h).
class Rotation {
 public:
  Rotation() = default;
  Rotation(ComputationGraph& graph, const EncoderConfig& config, unsigned positions, float theta);

  /// Of queries, keys and values, which stay. Shapes: n elements of {3 size} -> the same.
  Expression operator()(const Expression& all) const;

 private:
  Expression cosines_, sines_;  ///< an element {h} for each head of each of the three
};

}  // namespace dynet_like::nn::encoders
