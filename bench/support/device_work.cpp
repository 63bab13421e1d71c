// Differences, sums and means of counts, and the work that the GPU model is given.
#include "bench/support/device_work.h"

namespace dynet_like::bench {

namespace {

constexpr std::uint64_t DeviceCounts::*kCounters[] = {
    &DeviceCounts::launches,       &DeviceCounts::copies_to_device, &DeviceCounts::bytes_to_device,
    &DeviceCounts::copies_to_host, &DeviceCounts::bytes_to_host,    &DeviceCounts::synchronisations,
    &DeviceCounts::allocations,    &DeviceCounts::fallbacks,        &DeviceCounts::product_terms,
    &DeviceCounts::meetings};

GpuWork gpu_work(const PhaseWork& phase, double flops, double memory_bytes) {
  return {phase.launches,
          flops,
          memory_bytes,
          phase.copies_to_device + phase.copies_to_host,
          phase.bytes_to_device + phase.bytes_to_host,
          phase.synchronisations,
          phase.product_terms,
          phase.meetings};
}

}  // namespace

DeviceCounts difference(const DeviceCounts& before, const DeviceCounts& after) {
  DeviceCounts result = after;
  for (const auto counter : kCounters) result.*counter -= before.*counter;
  return result;
}

void PhaseCounts::end(Phase phase) {
  queue_->submit();
  const DeviceCounts now = device_.counts(), more = difference(last_, now);
  DeviceCounts& sum = sums_[static_cast<std::size_t>(phase)];
  for (const auto counter : kCounters) sum.*counter += more.*counter;
  sum.bytes_in_use = now.bytes_in_use;
  sum.peak_bytes = now.peak_bytes;
  last_ = now;
}

PhaseWork mean(const DeviceCounts& sum, double minibatches) {
  const auto per_minibatch = [&](std::uint64_t count) {
    return static_cast<double>(count) / minibatches;
  };
  return {per_minibatch(sum.launches),        per_minibatch(sum.copies_to_device),
          per_minibatch(sum.bytes_to_device), per_minibatch(sum.copies_to_host),
          per_minibatch(sum.bytes_to_host),   per_minibatch(sum.synchronisations),
          per_minibatch(sum.allocations),     per_minibatch(sum.fallbacks),
          per_minibatch(sum.product_terms),   per_minibatch(sum.meetings)};
}

PhaseWork operator+(const PhaseWork& a, const PhaseWork& b) {
  return {a.launches + b.launches,
          a.copies_to_device + b.copies_to_device,
          a.bytes_to_device + b.bytes_to_device,
          a.copies_to_host + b.copies_to_host,
          a.bytes_to_host + b.bytes_to_host,
          a.synchronisations + b.synchronisations,
          a.allocations + b.allocations,
          a.fallbacks + b.fallbacks,
          a.product_terms + b.product_terms,
          a.meetings + b.meetings};
}

double DeviceWork::predicted_seconds(const Gpu& gpu, double host) const {
  const GpuWork first = gpu_work(forward, forward_flops, 2 * value_bytes + weight_bytes);
  GpuWork rest = gpu_work(backward + update, 0, 0);
  const bool trains = gradient_bytes > 0;
  if (trains) {
    rest.flops = 2 * forward_flops;
    rest.memory_bytes = value_bytes + 2 * gradient_bytes + 5 * weight_bytes;
  }
  return predict_seconds(gpu, first, rest, host);
}

double weight_bytes(const ParameterCollection& parameters) {
  double bytes = 0;
  for (const auto& storage : parameters.storages()) {
    if (!storage->is_table) bytes += static_cast<double>(storage->values.size());
  }
  return bytes;
}

}  // namespace dynet_like::bench
