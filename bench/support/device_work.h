// The work of a device for minibatches, phase by phase, and how long a GPU would take for it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "dynet_like/device/queue.h"
#include "dynet_like/dynet_like.h"

namespace dynet_like::bench {

enum class Phase : std::uint8_t { forward, backward, update };

/// Adds up the work of a device in each phase of minibatches. No one else may use the device
/// meanwhile.
class PhaseCounts {
 public:
  explicit PhaseCounts(Device& device)
      : device_(device), queue_(device.make_queue()), last_(device.counts()) {}

  /// Attributes all work since the last call to this phase, which the device begins now.
  void end(Phase phase);
  const DeviceCounts& of(Phase phase) const { return sums_[static_cast<std::size_t>(phase)]; }

 private:
  Device& device_;
  std::unique_ptr<detail::Queue> queue_;
  DeviceCounts last_;
  std::array<DeviceCounts, 3> sums_;
};

/// All other figures are per minibatch; counts are sums.
struct DeviceWork {
  double minibatches = 1;
  DeviceCounts forward, backward, update;
  double forward_flops = 0;  ///< of products; backward has twice as many
  double value_bytes = 0, gradient_bytes = 0, weight_bytes = 0;
  double busy_seconds = 0;  ///< the device's, in submissions
  double host_seconds = 0;  ///< for recording and planning; of the fastest minibatch

  /// A count of all phases, per minibatch.
  double mean(std::uint64_t DeviceCounts::*count) const {
    return static_cast<double>(forward.*count + backward.*count + update.*count) / minibatches;
  }
};

/// Seconds per minibatch on an H100, from the best to the worst that documents and published
/// measurements let us expect. Nothing of this was measured. If minibatches follow each other, and
/// the loss is read after each forward pass:
///
///   max(asking(rest) + host, busy(rest)) + max(asking(forward), busy(forward)) + waits * wait
///   asking = (launches + copies) * call + meetings * host_step
///   busy   = (launches + copies) * launch + meetings * meeting + bus_bytes / bus
///            + max(memory_bytes / bandwidth, flops / peak, product_terms * term)
///
/// When the loss is known, the host asks for the rest (backward and update), then records and plans
/// the next minibatch, while the device works. Then both work on forward, since the device begins
/// while the host still asks; and the host waits for the loss. Kernels follow each other in one
/// stream, so their fixed costs add up. Inside a kernel memory and arithmetic work at the same
/// time, and a product with few columns waits for one tile after the other. The memory that kernels
/// read and write is estimated, without caches: forward writes every value, reads it once, and
/// reads the weights; backward reads values and weights, writes gradients, and reads those of nodes
/// once; an update reads weights and their gradients, and writes weights. Tables are not counted.
struct Prediction {
  double least, most;
};
Prediction predict(const DeviceWork& work);

}  // namespace dynet_like::bench
