// The formulas.
#include "bench/support/gpu_model.h"

#include <algorithm>

namespace dynet_like::bench {

double busy_seconds(const Gpu& gpu, const GpuWork& work) {
  const double memory = work.memory_bytes / gpu.bytes_per_second;
  const double products = work.flops / gpu.flops_per_second;
  return (work.launches + work.copies) * gpu.launch_seconds + std::max(memory, products) +
         work.bus_bytes / gpu.bus_bytes_per_second;
}

double asking_seconds(const Gpu& gpu, const GpuWork& work) {
  return (work.launches + work.copies) * gpu.host_call_seconds;
}

double predict_seconds(const Gpu& gpu, const GpuWork& forward, const GpuWork& rest,
                       double host_seconds) {
  const double until_forward =
      std::max(asking_seconds(gpu, rest) + host_seconds, busy_seconds(gpu, rest));
  return until_forward + std::max(asking_seconds(gpu, forward), busy_seconds(gpu, forward)) +
         (forward.waits + rest.waits) * gpu.wait_seconds;
}

}  // namespace dynet_like::bench
