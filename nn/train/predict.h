// Applying a model to many samples: inference minibatches, outputs in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/graph/minibatch.h"

namespace dynet_like::nn {

/// How samples are put together. Outputs do not depend on it.
struct PredictionOptions {
  /// Samples of a minibatch, whose values are in memory at the same time.
  std::size_t batch_size = 64;
  /// Where they are given, samples of similar sizes run together.
  std::span<const std::uint32_t> sizes = {};
  /// Threads and all else; `inference` is set.
  GraphOptions graph = {};
  /// Processes that share the samples, if any. All of them must make the same call; all get all
  /// outputs.
  Communicator* ranks = nullptr;
};

/// Records what is wanted of sample i, beside other samples if there are threads.
using RecordOutputs = std::function<std::vector<Expression>(ComputationGraph&, std::size_t i)>;
/// Is given the values of what was recorded for sample i, for as long as the call takes.
using UseOutputs = std::function<void(std::size_t i, std::span<const Tensor> outputs)>;

/// Runs samples 0 to count - 1. `use` is called once for each, one after the other; without sizes
/// in this order. Throws UsageError unless the batch size is above 0 and there are no sizes or one
/// per sample, and what the functions throw.
void predict_outputs(std::size_t count, const RecordOutputs& record, const UseOutputs& use,
                     const PredictionOptions& options = {});

/// The same for one expression per sample: read(Tensor) of each, in the order of the samples. Copy
/// what is to stay, as `as_vector` does.
template <class Record, class Read>
auto predict(std::size_t count, const Record& record, const Read& read,
             const PredictionOptions& options = {}) {
  static_assert(
      std::is_invocable_r_v<Expression, const Record&, ComputationGraph&, std::size_t>,
      "need a function (ComputationGraph& graph, std::size_t i) that returns an Expression");
  static_assert(std::is_invocable_v<const Read&, const Tensor&>,
                "need a function (const Tensor& output)");
  using Result = std::decay_t<std::invoke_result_t<const Read&, const Tensor&>>;
  std::vector<Result> results(count);
  predict_outputs(
      count,
      [&](ComputationGraph& graph, std::size_t i) {
        return std::vector<Expression>{record(graph, i)};
      },
      [&](std::size_t i, std::span<const Tensor> outputs) { results[i] = read(outputs.front()); },
      options);
  return results;
}

}  // namespace dynet_like::nn
