// Predicts how long a GPU takes for a minibatch, from the work that it is given.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace dynet_like::bench {

/// The model's constants of a GPU and of the processor that drives it. `kFast` and `kSlow` were not
/// measured: they are the best and the worst that documents and published measurements let us
/// expect of an H100. bench/gpu/constants measures a GPU's own.
struct Gpu {
  double launch_seconds;  ///< from the end of one small kernel to the end of the next
  double bytes_per_second;
  double flops_per_second;  ///< fp32, without tensor cores
  double bus_bytes_per_second;
  double wait_seconds;       ///< from the end of a kernel until the host continues
  double host_call_seconds;  ///< the host's time for a launch or copy with its lists
  double term_seconds;       ///< per term of a product that threads add one by one
  double meeting_seconds;    ///< until all blocks of a launch have waited for each other
  double host_step_seconds;  ///< the host's time for the lists of a step that needs no launch
};
// Launches, meetings, host calls and waits are published measurements. The data sheet has 3.35 TB/s
// and 67 TFLOP/s: kernels with few blocks reach a part of the memory's speed and a small part of
// the arithmetic. The bus is PCIe 5. A term takes the instructions of a tile, and the latency of
// L2. The host's time for a step is a guess: that of a call without its launch.
inline constexpr Gpu kFast{2e-6, 3.0e12, 40e12, 25e9, 8e-6, 2e-6, 8e-9, 1.3e-6, 0.5e-6};
inline constexpr Gpu kSlow{3.5e-6, 1.5e12, 10e12, 12e9, 20e-6, 5e-6, 20e-9, 2e-6, 2e-6};

/// The two ends of a prediction. With measured constants both are the same.
struct GpuRange {
  Gpu fast = kFast, slow = kSlow;
  bool is_measured = false;
};

/// Converts to an object with the names of Gpu, and back. Missing numbers and those that are not
/// above 0 are a UsageError.
nlohmann::json to_json(const Gpu& gpu);
Gpu gpu_of(const nlohmann::json& json);
/// Reads constants that bench/gpu/constants wrote to this file. Throws FileError or UsageError.
GpuRange read_constants(const std::filesystem::path& file);

/// The work of a GPU in one phase of a minibatch.
struct GpuWork {
  double launches = 0;      ///< number of kernels
  double flops = 0;         ///< of products
  double memory_bytes = 0;  ///< read and written by kernels
  double copies = 0, bus_bytes = 0;
  double waits = 0;
  double product_terms = 0;  ///< the longest chain of each product, added up
  double meetings = 0;       ///< steps of launches, without the first of each
};

/// Seconds for which the device is busy with a phase:
///
///   (launches + copies) * launch + meetings * meeting + bus_bytes / bus
///     + max(memory_bytes / bandwidth, flops / peak, product_terms * term)
///
/// Everything is in one stream, where a kernel begins when the one before it has ended. So the
/// fixed costs of kernels and copies add up, and are added to the kernels' work. Inside a kernel,
/// memory and arithmetic work at the same time: the slower one counts. A product with few columns
/// is limited by neither, but waits for one tile after the other. (This takes the maximum of the
/// sums, because the amounts per kernel are not known; it is at most the sum of the kernels'
/// maxima.)
double busy_seconds(const Gpu& gpu, const GpuWork& work);

/// Seconds that the host needs to queue a phase.
double asking_seconds(const Gpu& gpu, const GpuWork& work);

/// Seconds per minibatch, if minibatches follow each other and the loss is read after each forward
/// pass, as in bench/throughput:
///
///   max(asking(rest) + host, busy(rest)) + max(asking(forward), busy(forward)) + waits * wait
///
/// When the loss is known, the host queues the rest (backward and update), then records and plans
/// the next minibatch, while the device works on the rest. Then both work on forward, since the
/// device begins while the host still queues; and the host waits for the loss.
double predict_seconds(const Gpu& gpu, const GpuWork& forward, const GpuWork& rest,
                       double host_seconds);

}  // namespace dynet_like::bench
