// What automatic batching gains, measured on a fixed sample of the user's data.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "dynet_like/graph/minibatch.h"
#include "examples/support/options.h"
#include "nn/train.h"

namespace dynet_like::examples {

/// Trains on the first samples, a minibatch of them, without updates, on one thread, again and
/// again with batching and node by node, prints a table, and returns its numbers for a report. The
/// speeds are "SPEED" and "SPEED_unbatched" there. Either takes a tenth of the time that training
/// took, but not above 1.5 seconds, and three runs at least.
nlohmann::json measure_batching(const Options& options, const nn::TrainingRun& run,
                                std::size_t samples, const std::string& speed,
                                const Minibatch::RecordSample& loss_of);

}  // namespace dynet_like::examples
