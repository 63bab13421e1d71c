// Differences and sums of counts, and the model of a GPU.
#include "bench/support/device_work.h"

#include <algorithm>

namespace dynet_like::bench {

namespace {

constexpr std::uint64_t DeviceCounts::*kCounters[] = {
    &DeviceCounts::launches,       &DeviceCounts::copies_to_device, &DeviceCounts::bytes_to_device,
    &DeviceCounts::copies_to_host, &DeviceCounts::bytes_to_host,    &DeviceCounts::synchronisations,
    &DeviceCounts::allocations,    &DeviceCounts::fallbacks,        &DeviceCounts::product_terms,
    &DeviceCounts::meetings};

// A GPU and the processor that drives it.
struct Gpu {
  double launch;           // from the end of one small kernel to the end of the next
  double bandwidth, peak;  // bytes per second; operations of fp32 per second, without tensor cores
  double bus;              // bytes per second
  double wait;             // from the end of a kernel until the host continues
  double call;             // the host's time for a launch or copy with its lists
  double term;             // per term of a product that threads add one by one
  double meeting;          // until all blocks of a launch have waited for each other
  double host_step;        // the host's time for the lists of a step that needs no launch
};
// Launches, meetings, calls and waits are published measurements. The data sheet has 3.35 TB/s and
// 67 TFLOP/s: kernels with few blocks reach a part of the memory's speed and a small part of the
// arithmetic. The bus is PCIe 5. A term takes the instructions of a tile, and the latency of L2.
// The host's time for a step is a guess: that of a call without its launch.
constexpr Gpu kFast{2e-6, 3.0e12, 40e12, 25e9, 8e-6, 2e-6, 8e-9, 1.3e-6, 0.5e-6};
constexpr Gpu kSlow{3.5e-6, 1.5e12, 10e12, 12e9, 20e-6, 5e-6, 20e-9, 2e-6, 2e-6};

struct Amounts {
  double launches, copies, bus_bytes, meetings, terms, flops, memory_bytes;
};

Amounts amounts(std::initializer_list<const DeviceCounts*> phases, double minibatches, double flops,
                double memory_bytes) {
  const auto sum = [&](auto... counts) {
    std::uint64_t total = 0;
    for (const DeviceCounts* phase : phases) total += ((phase->*counts) + ...);
    return static_cast<double>(total) / minibatches;
  };
  return {sum(&DeviceCounts::launches),
          sum(&DeviceCounts::copies_to_device, &DeviceCounts::copies_to_host),
          sum(&DeviceCounts::bytes_to_device, &DeviceCounts::bytes_to_host),
          sum(&DeviceCounts::meetings),
          sum(&DeviceCounts::product_terms),
          flops,
          memory_bytes};
}

double busy(const Gpu& gpu, const Amounts& work) {
  return (work.launches + work.copies) * gpu.launch + work.meetings * gpu.meeting +
         work.bus_bytes / gpu.bus +
         std::max(
             {work.memory_bytes / gpu.bandwidth, work.flops / gpu.peak, work.terms * gpu.term});
}

double asking(const Gpu& gpu, const Amounts& work) {
  return (work.launches + work.copies) * gpu.call + work.meetings * gpu.host_step;
}

}  // namespace

void PhaseCounts::end(Phase phase) {
  queue_->submit();
  const DeviceCounts now = device_.counts();
  DeviceCounts& sum = sums_[static_cast<std::size_t>(phase)];
  for (const auto counter : kCounters) sum.*counter += now.*counter - last_.*counter;
  last_ = now;
}

Prediction predict(const DeviceWork& work) {
  const bool trains = work.gradient_bytes > 0;
  const Amounts forward = amounts({&work.forward}, work.minibatches, work.forward_flops,
                                  2 * work.value_bytes + work.weight_bytes);
  const Amounts rest =
      amounts({&work.backward, &work.update}, work.minibatches, trains ? 2 * work.forward_flops : 0,
              trains ? work.value_bytes + 2 * work.gradient_bytes + 5 * work.weight_bytes : 0);
  const auto on = [&](const Gpu& gpu) {
    return std::max(asking(gpu, rest) + work.host_seconds, busy(gpu, rest)) +
           std::max(asking(gpu, forward), busy(gpu, forward)) +
           work.mean(&DeviceCounts::synchronisations) * gpu.wait;
  };
  return {on(kFast), on(kSlow)};
}

}  // namespace dynet_like::bench
