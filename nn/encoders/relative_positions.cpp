// Rotary positions by tables of sines; scores of distances with heads as minibatch elements.
#include "nn/encoders/relative_positions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "dynet_like/ops/ops.h"

namespace dynet_like::nn::encoders {

Rotation::Rotation(ComputationGraph& graph, const EncoderConfig& config, unsigned positions,
                   float theta) {
  const unsigned rows = config.size / config.heads, half = rows / 2;
  std::vector<float> cosines, sines;
  cosines.reserve(std::size_t{3} * config.size * positions);
  sines.reserve(cosines.capacity());
  std::vector<float> cosines_of_head(rows), sines_of_head(rows);
  for (unsigned position = 0; position < positions; ++position) {
    for (unsigned row = 0; row < half; ++row) {
      const double angle = position / std::pow(static_cast<double>(theta), 2.0 * row / rows);
      cosines_of_head[row] = cosines_of_head[row + half] = static_cast<float>(std::cos(angle));
      sines_of_head[row + half] = static_cast<float>(std::sin(angle));
      sines_of_head[row] = -sines_of_head[row + half];
    }
    for (unsigned head = 0; head < 2 * config.heads; ++head) {
      cosines.insert(cosines.end(), cosines_of_head.begin(), cosines_of_head.end());
      sines.insert(sines.end(), sines_of_head.begin(), sines_of_head.end());
    }
    cosines.insert(cosines.end(), config.size, 1.0f);
    sines.insert(sines.end(), config.size, 0.0f);
  }
  const Dim dim({rows}, 3 * config.heads * positions);
  cosines_ = input(graph, dim, cosines);
  sines_ = input(graph, dim, sines);
}

Expression Rotation::operator()(const Expression& all) const {
  const unsigned rows = cosines_.dim().rows();
  const Expression heads = reshape(all, cosines_.dim());
  const Expression other =
      concatenate({pick_range(heads, rows / 2, rows), pick_range(heads, 0, rows / 2)});
  return reshape(cmult(heads, cosines_) + cmult(other, sines_), all.dim());
}

namespace {

/// {size, n} or n elements of {size} -> {rows of a head, n}, a minibatch element for every head.
Expression by_head(const Expression& x, unsigned heads) {
  const unsigned rows = x.dim().rows() / heads,
                 columns = static_cast<unsigned>(x.dim().size() / x.dim().rows());
  const Expression turned = transpose(reshape(x, {rows, heads, columns}), {0, 2, 1});
  return reshape(turned, Dim({rows, columns}, heads));
}

/// {rows, n}, a minibatch element for every head -> {size, n}.
Expression joined(const Expression& x) {
  const Dim dim = x.dim();
  const Expression turned = transpose(reshape(x, {dim[0], dim[1], dim.bd}), {0, 2, 1});
  return reshape(turned, {dim[0] * dim.bd, dim[1]});
}

}  // namespace

int bucket_of(int distance, const EncoderConfig& config) {
  const int middle = static_cast<int>(config.position_buckets / 2), length = std::abs(distance);
  if (length <= middle) return distance;
  const unsigned largest =
      config.largest_distance == 0 ? config.positions : config.largest_distance;
  const auto log_of = [&](float x) { return std::log(x / static_cast<float>(middle)); };
  const float share = log_of(static_cast<float>(length)) / log_of(static_cast<float>(largest - 1));
  const float bucket = std::ceil(share * static_cast<float>(middle - 1)) + middle;
  const int own = static_cast<int>(std::min(bucket, static_cast<float>(config.position_buckets)));
  return distance < 0 ? -own : own;
}

Expression attend_by_distances(const DistanceAttention& x, const EncoderConfig& config) {
  const unsigned n = static_cast<unsigned>(x.queries.dim().size()) / config.size;
  const int buckets = static_cast<int>(config.position_buckets);
  const auto row_of = [&](int distance) {
    return static_cast<unsigned>(
        std::clamp(bucket_of(distance, config) + buckets, 0, 2 * buckets - 1));
  };
  // Only the distances that occur.
  const int longest = static_cast<int>(n) - 1;
  const unsigned first = row_of(-longest), end = row_of(longest) + 1, rows = end - first;
  std::vector<unsigned> of_queries, of_keys;  // for every query, the places of all keys' scores
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      const unsigned row = row_of(static_cast<int>(i) - static_cast<int>(j)) - first;
      of_queries.push_back(row + rows * i);
      of_keys.push_back(row + rows * j);
    }
  }
  const unsigned heads = config.heads;
  const Expression q = by_head(x.queries, heads), k = by_head(x.keys, heads);
  const auto scores = [&](const Expression& distances, const Expression& contents,
                          const std::vector<unsigned>& places) {
    const Expression all =
        transpose(pick_range(by_head(distances, heads), first, end, 1)) * contents;
    return reshape(gather(reshape(all, Dim({rows * n}, heads)), places), Dim({n, n}, heads));
  };
  const Expression total = sum({transpose(k) * q, scores(x.distance_keys, q, of_queries),
                                scores(x.distance_queries, k, of_keys)});
  const float scale = 1 / std::sqrt(3.0f * static_cast<float>(config.size / heads));
  const Expression weights = dropout(softmax(total * scale), config.attention_dropout);
  return joined(by_head(x.values, heads) * weights);
}

unsigned bias_row_of(int distance) {
  constexpr float kLargest = 128;
  constexpr unsigned half = kBiasRows / 2, exact = half / 2;
  const unsigned begin = distance > 0 ? half : 0;  // of the pieces behind
  const auto length = static_cast<unsigned>(std::abs(distance));
  if (length < exact) return begin + length;
  const auto log_of = [&](float x) { return std::log(x / static_cast<float>(exact)); };
  const float share = log_of(static_cast<float>(length)) / log_of(kLargest);
  const auto row = exact + static_cast<unsigned>(share * static_cast<float>(half - exact));
  return begin + std::min(row, half - 1);
}

Expression biases_of_distances(const Expression& table, unsigned n) {
  std::vector<unsigned> places;
  places.reserve(std::size_t{n} * n);
  for (int query = 0; query < static_cast<int>(n); ++query) {
    for (int key = 0; key < static_cast<int>(n); ++key) {
      places.push_back(bias_row_of(key - query));
    }
  }
  const unsigned heads = table.dim().rows();
  const Expression by_heads = reshape(transpose(table), Dim({kBiasRows}, heads));
  return reshape(gather(by_heads, places), Dim({n, n}, heads));
}

Expression attend_with_biases(const DistanceAttention& x, const Expression& biases,
                              const EncoderConfig& config) {
  const unsigned heads = config.heads;
  const float scale = 1 / std::sqrt(static_cast<float>(config.size / heads));
  const Expression scores =
      transpose(by_head(x.keys, heads)) * by_head(x.queries, heads) * scale + biases;
  return joined(by_head(x.values, heads) * dropout(softmax(scores), config.attention_dropout));
}

}  // namespace dynet_like::nn::encoders
