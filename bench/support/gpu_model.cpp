// The two formulas.
#include "bench/support/gpu_model.h"

#include <algorithm>

namespace dynet_like::bench {

double busy_seconds(const Gpu& gpu, const GpuWork& work) {
  const double memory = work.memory_bytes / gpu.bytes_per_second;
  const double products = work.flops / gpu.flops_per_second;
  return (work.launches + work.copies) * gpu.launch_seconds + std::max(memory, products) +
         work.bus_bytes / gpu.bus_bytes_per_second;
}

double predict_seconds(const Gpu& gpu, const GpuWork& forward, const GpuWork& rest,
                       double host_seconds) {
  return busy_seconds(gpu, forward) + std::max(busy_seconds(gpu, rest), host_seconds) +
         (forward.waits + rest.waits) * gpu.wait_seconds;
}

}  // namespace dynet_like::bench
