// predict: applies a model to many samples in inference minibatches, and returns results in order.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/graph/minibatch.h"
#include "nn/evaluate/numbered_samples.h"
#include "nn/evaluate/shared_results.h"

namespace dynet_like::nn {

/// How samples are grouped and run. Results do not depend on it.
struct PredictionOptions {
  /// The number of samples per minibatch. Their values are in memory at the same time.
  std::size_t batch_size = 64;
  /// Sizes of all samples, to run samples of similar sizes together; empty: in the given order.
  std::span<const std::uint32_t> sizes = {};
  /// Options of the graphs, by default with one thread per available processor. predict sets
  /// `inference`.
  GraphOptions graph = {.threads = 0};
  /// Processes that share the work; null: none. All must make the same call, and all get all
  /// results, which must be numbers, strings, or vectors of these.
  Communicator* ranks = nullptr;
};

/// How predict_samples runs a sample and shares its result.
struct Prediction {
  std::function<void(ComputationGraph& graph, std::size_t i)>
      run;  ///< keeps the result of sample i
  /// Append the result of sample i to bytes, and read it back on another rank. Null: results are
  /// not shared.
  std::function<void(std::size_t i, Communicator::Bytes& bytes)> append = {};
  std::function<void(std::size_t i, std::span<const std::byte>& bytes)> read = {};
};

void predict_samples(std::size_t count, const Prediction& prediction,
                     const PredictionOptions& options);

/// Calls f(graph, sample) for each sample of a random-access range, and returns the results in
/// order. A result may be of any type except tensors and expressions, which end with the minibatch.
/// If you pass a count instead of samples, calls f(graph, i) for 0 to count - 1.
///
///     const auto tags = nn::predict(sentences, [&](ComputationGraph& graph, const auto& sentence)
///     {
///       return argmax_of_columns(scores(graph, sentence).value());
///     });
///
/// As in for_each_sample, `f` may ask for values and decide by them. Several threads call it at
/// once, so it may read shared data, but must not write it. Throws UsageError unless the batch size
/// is above 0 and there are no sizes or one per sample. Rethrows what `f` throws.
template <class Samples, class F>
auto predict(const Samples& samples, const F& f, const PredictionOptions& options = {}) {
  const NumberedSamples numbered(samples);
  using Sample = decltype(numbered[0]);
  static_assert(std::is_invocable_v<const F&, ComputationGraph&, Sample>,
                "need a function (ComputationGraph& graph, const Sample& sample)");
  using Result = std::decay_t<std::invoke_result_t<const F&, ComputationGraph&, Sample>>;
  static_assert(!std::is_void_v<Result> && !std::is_same_v<Result, Tensor> &&
                    !std::is_convertible_v<Result, Expression>,
                "need a function that returns numbers, such as as_vector(e.value()): tensors and "
                "expressions end with the minibatch");
  std::vector<std::optional<Result>> found(numbered.size());
  Prediction prediction;
  prediction.run = [&](ComputationGraph& graph, std::size_t i) {
    found[i] = f(graph, numbered[i]);
  };
  if constexpr (SharedResult<Result>) {
    prediction.append = [&](std::size_t i, Communicator::Bytes& bytes) {
      append_result(bytes, *found[i]);
    };
    prediction.read = [&](std::size_t i, std::span<const std::byte>& bytes) {
      read_result(bytes, found[i].emplace());
    };
  }
  predict_samples(found.size(), prediction, options);
  std::vector<Result> results;
  results.reserve(found.size());
  for (std::optional<Result>& one : found) results.push_back(std::move(*one));
  return results;
}

}  // namespace dynet_like::nn
