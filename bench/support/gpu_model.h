// Predicts how long a GPU takes for a minibatch, from what it is asked to do.
#pragma once

namespace dynet_like::bench {

/// What the model knows of a GPU; the defaults are an H100's, rounded.
struct Gpu {
  double launch_seconds = 2.5e-6;  ///< from the end of one small kernel to the end of the next
  double bytes_per_second = 3.3e12;
  double flops_per_second = 60e12;  ///< fp32, without tensor cores
  double bus_bytes_per_second = 25e9;
  double wait_seconds = 10e-6;  ///< from the end of a kernel until the host goes on
};

/// What a GPU is asked to do, in one phase of a minibatch.
struct GpuWork {
  double launches = 0;      ///< of kernels
  double flops = 0;         ///< of products
  double memory_bytes = 0;  ///< that kernels read and write
  double copies = 0, bus_bytes = 0;
  double waits = 0;
};

/// Seconds that the device is busy with a phase:
///
///   (launches + copies) * launch + max(memory_bytes / bandwidth, flops / peak) + bus_bytes / bus
///
/// Everything is in one stream, where a kernel begins when the one before it has ended. So the
/// fixed costs of kernels and copies add up, and come on top of what the kernels do. Inside a
/// kernel, memory and arithmetic go on at the same time: the slower one counts. (The maximum is
/// that of the sums, since the amounts per kernel are not known: it is at most the sum of the
/// kernels' maxima.)
double busy_seconds(const Gpu& gpu, const GpuWork& work);

/// Seconds of a minibatch whose loss is read after the forward pass, as bench/throughput does:
///
///   busy(forward) + max(busy(rest), host) + waits * wait
///
/// Forward needs its plan, and the host needs the loss, so that forward is beside nothing. While
/// the device works on the rest (backward and update) the host records and plans the next
/// minibatch: the slower one counts. In inference there is no rest, and host work comes on top.
double predict_seconds(const Gpu& gpu, const GpuWork& forward, const GpuWork& rest,
                       double host_seconds);

}  // namespace dynet_like::bench
