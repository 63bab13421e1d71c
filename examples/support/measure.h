// Measures of models: how many labels are right, and what automatic batching gains.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "dynet_like/graph/minibatch.h"
#include "examples/support/options.h"
#include "nn/train.h"

namespace dynet_like::examples {

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

/// What samples gain that wait for each other in for_each_sample: prints "UNIT/s" when `together`
/// of them are decided at once, and one by one, the fastest of some runs, and returns these numbers
/// for a report as "UNIT_per_s" and "UNIT_per_s_alone". decide(n) decides all `count`, n at a time,
/// on one thread. Throws std::logic_error unless it says the same both times.
nlohmann::json measure_waiting(const std::string& unit, std::size_t count, unsigned together,
                               const std::function<std::vector<std::string>(unsigned n)>& decide);

}  // namespace dynet_like::examples
