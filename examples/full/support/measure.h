// Measures of models: the gain of automatic batching.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "dynet_like/graph/for_each_sample.h"
#include "examples/full/support/options.h"
#include "nn/train.h"

namespace dynet_like::examples {

/// Each way is measured at least so often.
inline constexpr int kLeastRuns = 3;

/// Measures training on the first samples, a minibatch of them, without updates and on one thread,
/// with batching and node by node. Prints a table, and returns its numbers for a report: the speeds
/// are "SPEED" and "SPEED_unbatched". Each way takes a tenth of the time that training took, at
/// most 1.5 seconds, and at least three runs. `nodes_of`, if there is one, records the same
/// loss node by node: its speeds "SPEED_nodes" and "SPEED_nodes_unbatched" stand beside.
nlohmann::json measure_batching(const Options& options, const nn::TrainingProgress& progress,
                                std::size_t samples, const std::string& speed,
                                const Minibatch::RecordSample& loss_of,
                                const Minibatch::RecordSample* nodes_of = nullptr);
/// The same for loss_of(graph, sample), and nodes_of(graph, sample).
template <class Sample, class LossOf>
nlohmann::json measure_batching(const Options& options, const nn::TrainingProgress& progress,
                                const std::vector<Sample>& samples, const std::string& speed,
                                const LossOf& loss_of) {
  return measure_batching(
      options, progress, samples.size(), speed,
      [&](ComputationGraph& graph, std::size_t i) { return loss_of(graph, samples[i]); });
}
template <class Sample, class LossOf, class NodesOf>
nlohmann::json measure_batching(const Options& options, const nn::TrainingProgress& progress,
                                const std::vector<Sample>& samples, const std::string& speed,
                                const LossOf& loss_of, const NodesOf& nodes_of) {
  const Minibatch::RecordSample nodes = [&](ComputationGraph& graph, std::size_t i) {
    return nodes_of(graph, samples[i]);
  };
  return measure_batching(
      options, progress, samples.size(), speed,
      [&](ComputationGraph& graph, std::size_t i) { return loss_of(graph, samples[i]); }, &nodes);
}

/// Prints how the first samples, at most `count`, run in training, as one minibatch. They may wait
/// for each other.
template <class Sample, class LossOf>
void explain_minibatch(const std::vector<Sample>& samples, std::size_t count,
                       const LossOf& loss_of) {
  Minibatch batch;
  const std::span<const Sample> all = samples;
  batch.add_losses(for_each_sample(batch, all.first(std::min(count, all.size())), loss_of));
  batch.forward();
  batch.backward();
  fmt::print("{}\n", fmt::streamed(batch.explain()));
}

/// Measures what for_each_sample gains for samples that wait for each other. decide(n) must decide
/// all `count` samples, n at a time, on one thread. Prints "UNIT/s" for `together` at once and for
/// one by one, and returns them for a report as "UNIT_per_s" and "UNIT_per_s_alone". Speeds are of
/// processor time, which other programs do not change, in the fastest of some runs. Throws
/// std::logic_error unless both ways return the same.
template <class Decide>
nlohmann::json measure_waiting(const std::string& unit, std::size_t count, unsigned together,
                               const Decide& decide) {
  struct {
    unsigned at_once;
    double speed = 0;
    decltype(decide(1u)) decided = {};
  } ways[] = {{together}, {1}};
  for (int run = 0; run < kLeastRuns; ++run) {
    for (auto& way : ways) {
      const std::clock_t start = std::clock();
      way.decided = decide(way.at_once);
      const auto ticks = static_cast<double>(std::clock() - start);
      way.speed = std::max(way.speed, static_cast<double>(count) * CLOCKS_PER_SEC / ticks);
    }
  }
  if (ways[0].decided != ways[1].decided)
    throw std::logic_error("need the same decisions together and one by one");
  fmt::print("one thread: {:.0f} {}/s {} together, {:.0f} one by one\n", ways[0].speed, unit,
             together, ways[1].speed);
  return {{unit + "_per_s", ways[0].speed}, {unit + "_per_s_alone", ways[1].speed}};
}

}  // namespace dynet_like::examples
