// Predicts how long a GPU takes for a minibatch, from what it is asked to do.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace dynet_like::bench {

/// What the model knows of a GPU and of the processor that drives it. `kFast` and `kSlow` were not
/// measured: they are as good and as bad as documents and other people's measurements of an H100
/// let us expect. bench/gpu/constants measures its own.
struct Gpu {
  double launch_seconds;  ///< from the end of one small kernel to the end of the next
  double bytes_per_second;
  double flops_per_second;  ///< fp32, without tensor cores
  double bus_bytes_per_second;
  double wait_seconds;       ///< from the end of a kernel until the host goes on
  double host_call_seconds;  ///< of the host, for a launch or copy and the lists that it needs
  double term_seconds;       ///< of a product, for each term that its threads add one by one
};
// Launches, host calls and waits are other people's measurements. The data sheet has 3.35 TB/s and
// 67 TFLOP/s: kernels of few blocks reach a part of the memory's speed and a small part of the
// arithmetic. The bus is PCIe 5. A term takes instructions of a tile, and the latency of L2.
inline constexpr Gpu kFast{2e-6, 3.0e12, 40e12, 25e9, 8e-6, 2e-6, 8e-9};
inline constexpr Gpu kSlow{3.5e-6, 1.5e12, 10e12, 12e9, 20e-6, 5e-6, 20e-9};

/// Between which ends a prediction lies. With measured constants both are the same.
struct GpuRange {
  Gpu fast = kFast, slow = kSlow;
  bool is_measured = false;
};

/// An object with the names of Gpu, and back. What is missing or not above 0 is a UsageError.
nlohmann::json to_json(const Gpu& gpu);
Gpu gpu_of(const nlohmann::json& json);
/// The constants that bench/gpu/constants wrote to this file. Throws FileError or UsageError.
GpuRange read_constants(const std::filesystem::path& file);

/// What a GPU is asked to do, in one phase of a minibatch.
struct GpuWork {
  double launches = 0;      ///< of kernels
  double flops = 0;         ///< of products
  double memory_bytes = 0;  ///< that kernels read and write
  double copies = 0, bus_bytes = 0;
  double waits = 0;
  double product_terms = 0;  ///< of the longest chain of each product, added up
};

/// Seconds that the device is busy with a phase:
///
///   (launches + copies) * launch + bus_bytes / bus
///     + max(memory_bytes / bandwidth, flops / peak, product_terms * term)
///
/// Everything is in one stream, where a kernel begins when the one before it has ended. So the
/// fixed costs of kernels and copies add up, and come on top of what the kernels do. Inside a
/// kernel, memory and arithmetic go on at the same time: the slower one counts. A product of few
/// columns is neither, but waits for one tile after the other. (The maximum is that of the sums,
/// since the amounts per kernel are not known: it is at most the sum of the kernels' maxima.)
double busy_seconds(const Gpu& gpu, const GpuWork& work);

/// Seconds that the host needs to ask for a phase.
double asking_seconds(const Gpu& gpu, const GpuWork& work);

/// Seconds of a minibatch whose loss is read after the forward pass, as bench/throughput does, when
/// one follows the other:
///
///   max(asking(rest) + host, busy(rest)) + max(asking(forward), busy(forward)) + waits * wait
///
/// When the loss is known the host asks for the rest (backward and update) and then records and
/// plans the next minibatch, while the device works on the rest. Then both work on forward, since
/// the device begins while the host still asks; and the host waits for the loss.
double predict_seconds(const Gpu& gpu, const GpuWork& forward, const GpuWork& rest,
                       double host_seconds);

}  // namespace dynet_like::bench
