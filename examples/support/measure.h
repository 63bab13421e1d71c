// What automatic batching gains, measured on a fixed sample of the user's data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "dynet_like/graph/minibatch.h"

namespace dynet_like::examples {

/// Training (forward and backward, without updates) on one thread.
struct BatchingGain {
  double samples_per_s = 0, samples_per_s_unbatched = 0;
  /// Of one minibatch.
  std::uint64_t nodes = 0, batches = 0, bound = 0;
  /// Time outside kernels for each node: recording, planning and bookkeeping.
  double host_ns_per_node = 0, host_ns_per_node_unbatched = 0;
};

/// Runs one minibatch of `samples` again and again, with batching and node by node. Either takes a
/// tenth of the time that training took, but not above 1.5 seconds, and three runs at least.
BatchingGain measure_batching(std::span<const std::uint32_t> samples, double training_seconds,
                              const std::function<void(Minibatch&, std::uint32_t)>& add_sample);

/// A small table for people; `unit` is the name of the samples, such as "trees".
std::string to_table(const BatchingGain& gain, const std::string& unit);

}  // namespace dynet_like::examples
