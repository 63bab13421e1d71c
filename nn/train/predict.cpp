// predict_outputs: minibatches in inference, one after the other.
#include "nn/train/predict.h"

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "nn/data/minibatches.h"

namespace dynet_like::nn {

namespace {

Minibatches minibatches_of(std::size_t count, const PredictionOptions& options) {
  if (options.sizes.empty()) {
    return sorted_minibatches(std::vector<std::uint32_t>(count), options.batch_size);
  }
  if (options.sizes.size() != count) {
    throw UsageError(fmt::format("[predict] need a size per sample, or none; got {} for {}",
                                 options.sizes.size(), count));
  }
  return sorted_minibatches(options.sizes, options.batch_size);
}

}  // namespace

void predict_outputs(std::size_t count, const RecordOutputs& record, const UseOutputs& use,
                     const PredictionOptions& options) {
  GraphOptions graph_options = options.graph;
  graph_options.inference = true;
  Minibatch batch(graph_options);
  std::vector<Tensor> values;
  for (const std::vector<std::uint32_t>& samples : minibatches_of(count, options)) {
    std::vector<std::vector<Expression>> outputs(samples.size());
    batch.clear();
    batch.record(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
      outputs[i] = record(graph, samples[i]);
      return outputs[i].empty() ? input(graph, 0.0f) : outputs[i].front();
    });
    for (const auto& some : outputs) {
      for (const Expression& output : some) batch.add_output(output);
    }
    batch.forward();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      values.clear();
      for (const Expression& output : outputs[i]) values.push_back(output.value());
      use(samples[i], values);
    }
  }
}

}  // namespace dynet_like::nn
