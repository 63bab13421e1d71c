// Predictions in inference mode, and counting which are right.
#include "examples/tree_lstm/evaluation.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "examples/support/parallel.h"
#include "nn/data/minibatches.h"

namespace dynet_like::examples {

namespace {

constexpr std::size_t kBatchSize = 64;
constexpr std::int32_t kNeutral = 2;
constexpr std::size_t kSentiments = 5;

Prediction prediction_of(const Tensor& scores) {
  const std::vector<float> values = as_vector(scores);
  const auto best = std::max_element(values.begin(), values.end());
  Prediction prediction;
  prediction.label = static_cast<std::int32_t>(best - values.begin());
  if (values.size() == kSentiments) {
    // Probabilities up to a factor, which both sides have.
    const auto p = [&](std::size_t label) { return std::exp(values[label] - *best); };
    prediction.is_positive = p(3) + p(4) > p(0) + p(1);
  }
  return prediction;
}

}  // namespace

std::vector<Prediction> predict(
    const std::vector<Sample>& samples, unsigned threads,
    const std::function<Expression(ComputationGraph&, const Sample&)>& root_scores) {
  std::vector<std::uint32_t> sizes;
  for (const Sample& sample : samples) sizes.push_back(sample.tree.size());
  const nn::Minibatches batches = nn::sorted_minibatches(sizes, kBatchSize);
  std::vector<Prediction> predictions(samples.size());
  for_each_part(threads, threads, [&](unsigned thread) {
    GraphOptions options;
    options.inference = true;
    Minibatch minibatch(options);
    std::vector<Expression> scores;
    for (std::size_t b = thread; b < batches.size(); b += threads) {
      minibatch.clear();
      scores.clear();
      for (const std::uint32_t i : batches[b]) {
        scores.push_back(root_scores(minibatch.new_graph(), samples[i]));
        minibatch.add_output(scores.back());
      }
      minibatch.forward();
      for (std::size_t i = 0; i < scores.size(); ++i) {
        predictions[batches[b][i]] = prediction_of(scores[i].value());
      }
    }
  });
  return predictions;
}

Accuracy accuracy(const std::vector<Sample>& samples, const std::vector<Prediction>& predictions,
                  std::uint32_t min_operators, std::uint32_t max_operators) {
  Accuracy result;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].operators < min_operators || samples[i].operators > max_operators) continue;
    result.add(predictions[i].label == samples[i].label());
  }
  return result;
}

Accuracy binary_accuracy(const std::vector<Sample>& samples,
                         const std::vector<Prediction>& predictions) {
  Accuracy result;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].label() == kNeutral) continue;
    result.add(predictions[i].is_positive == (samples[i].label() > kNeutral));
  }
  return result;
}

std::vector<SizeRow> accuracy_by_size(const std::vector<Sample>& samples,
                                      const std::vector<Prediction>& predictions) {
  struct Bucket {
    std::uint32_t min, max;
  };
  std::vector<SizeRow> rows;
  for (const Bucket& bucket : {Bucket{0, 0}, Bucket{1, 1}, Bucket{2, 2}, Bucket{3, 5},
                               Bucket{6, 10}, Bucket{11, 20}, Bucket{21, 50}, Bucket{51, ~0u}}) {
    const Accuracy found = accuracy(samples, predictions, bucket.min, bucket.max);
    if (found.all == 0) continue;
    std::string name = fmt::format("{} to {}", bucket.min, bucket.max);
    if (bucket.min == bucket.max) name = std::to_string(bucket.min);
    if (bucket.max == ~0u) name = fmt::format("{} and more", bucket.min);
    rows.push_back({std::move(name), found});
  }
  return rows;
}

}  // namespace dynet_like::examples
