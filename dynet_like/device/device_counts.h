// Counts of the work of a device.
#pragma once

#include <cstdint>

namespace dynet_like {

/// The work of a device since it was opened. The CPU counts nothing.
struct DeviceCounts {
  std::uint64_t launches = 0;  ///< of kernels and of library products
  std::uint64_t meetings = 0;  ///< in launches of several steps: waits of blocks for each other
  std::uint64_t product_terms = 0;  ///< of its products: the terms that one thread adds one by one
  std::uint64_t copies_to_device = 0, bytes_to_device = 0;
  std::uint64_t copies_to_host = 0, bytes_to_host = 0;
  std::uint64_t synchronisations = 0;  ///< waits of the host for the device
  std::uint64_t allocations = 0, bytes_in_use = 0, peak_bytes = 0;
  std::uint64_t fallbacks = 0;  ///< batches that ran on the CPU for want of a kernel
  double busy_seconds = 0;      ///< while Device::measure_busy_time is on
};

}  // namespace dynet_like
