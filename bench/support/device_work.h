// The work of a device for a minibatch, phase by phase.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "bench/support/gpu_model.h"
#include "dynet_like/device/queue.h"
#include "dynet_like/dynet_like.h"

namespace dynet_like::bench {

enum class Phase : std::uint8_t { forward, backward, update };
constexpr std::size_t kPhases = 3;

/// The counts between two calls of Device::counts(). Bytes in use are those of the second.
DeviceCounts difference(const DeviceCounts& before, const DeviceCounts& after);

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
  std::array<DeviceCounts, kPhases> sums_;
};

/// One phase: means over minibatches.
struct PhaseWork {
  double launches = 0;
  double copies_to_device = 0, bytes_to_device = 0, copies_to_host = 0, bytes_to_host = 0;
  double synchronisations = 0, allocations = 0, fallbacks = 0;
  double product_terms = 0, meetings = 0;
};

PhaseWork mean(const DeviceCounts& sum, double minibatches);
PhaseWork operator+(const PhaseWork& a, const PhaseWork& b);

/// One minibatch: counts, and predictions of the GPU model from them.
struct DeviceWork {
  PhaseWork forward, backward, update;
  double bytes_in_use = 0, peak_bytes = 0;  ///< of the device's memory
  double forward_flops = 0;                 ///< of products; backward has twice as many
  double value_bytes = 0, gradient_bytes = 0, weight_bytes = 0;
  double busy_seconds = 0;  ///< the device's, in submissions
  double host_seconds = 0;  ///< for recording and planning; of the fastest minibatch

  PhaseWork all() const { return forward + backward + update; }
  /// Predicted time on a GPU, if the host takes `host` seconds to record and plan a minibatch. The
  /// memory that kernels read and write is estimated, without caches: forward writes every value,
  /// reads it once, and reads the weights; backward reads values and weights, writes gradients, and
  /// reads those of nodes once; an update reads weights and their gradients, and writes weights.
  /// Tables are not counted, since few of their rows are used.
  double predicted_seconds(const Gpu& gpu, double host) const;
};

/// Bytes of all parameters that are not tables.
double weight_bytes(const ParameterCollection& parameters);

}  // namespace dynet_like::bench
