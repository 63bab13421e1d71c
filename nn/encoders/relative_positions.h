// Attention that knows how far apart pieces are: rotary positions, scores and biases of distances.
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

/// Queries, keys and values: n minibatch elements of {size}. Of distances: matrices {size, 2
/// position_buckets}.
struct DistanceAttention {
  Expression queries, keys, values, distance_queries, distance_keys;
};

/// The bucket of a distance, from -position_buckets to position_buckets: its own if it is short,
/// else one by its logarithm.
int bucket_of(int distance, const EncoderConfig& config);

/// Disentangled attention (He et al. 2021, equation 4): the score of query i and key j is (q_i k_j
/// + q_i k_d + q_d k_j) / sqrt(3 rows of a head), where d is the bucket of i - j. Shapes: -> {size,
/// n}.
Expression attend_by_distances(const DistanceAttention& x, const EncoderConfig& config);

/// Rows of a table of biases.
inline constexpr unsigned kBiasRows = 32;

/// The row of a distance (Raffel et al. 2020, of T5): half of the rows are for the pieces in front,
/// half for those behind; half of these for a distance each, half for its logarithm, up to 128.
unsigned bias_row_of(int distance);

/// What is added to the scores of n pieces. Shapes: the table {heads, rows} -> a minibatch element
/// {keys, queries} for each head.
Expression biases_of_distances(const Expression& table, unsigned n);

/// Attention whose scores have biases (Song et al. 2020, MPNet). Shapes: -> {size, n}.
Expression attend_with_biases(const DistanceAttention& x, const Expression& biases,
                              const EncoderConfig& config);

}  // namespace dynet_like::nn::encoders
