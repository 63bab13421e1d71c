// Measures of models: how many labels are right, and what automatic batching gains.
#pragma once

#include <cstddef>
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

}  // namespace dynet_like::examples
