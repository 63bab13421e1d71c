// Measures of models: how many labels are right, and what automatic batching gains.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dynet_like/graph/minibatch.h"
#include "examples/full/support/options.h"
#include "nn/train.h"

namespace dynet_like::examples {

/// How often each way is measured at least.
inline constexpr int kLeastRuns = 3;

/// The share of samples whose `label` is the one that was found.
template <class Sample>
double accuracy(const std::vector<Sample>& gold, const std::vector<std::string>& found) {
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < gold.size(); ++i) accuracy.add(found.at(i) == gold[i].label);
  return accuracy.value();
}

/// Trains on the first samples, a minibatch of them, without updates, on one thread, again and
/// again with batching and node by node, prints a table, and returns its numbers for a report. The
/// speeds are "SPEED" and "SPEED_unbatched" there. Either takes a tenth of the time that training
/// took, but not above 1.5 seconds, and three runs at least.
nlohmann::json measure_batching(const Options& options, const nn::TrainingRun& run,
                                std::size_t samples, const std::string& speed,
                                const Minibatch::RecordSample& loss_of);

/// What samples gain that wait for each other in for_each_sample: decide(n) decides all `count`, n
/// at a time, on one thread. Prints "UNIT/s" when `together` of them are decided at once, and one
/// by one, and returns these numbers for a report as "UNIT_per_s" and "UNIT_per_s_alone". They are
/// of processor time, for which other programs do not count, and the fastest of some runs. Throws
/// std::logic_error unless both return the same.
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
