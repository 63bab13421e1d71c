// Executes a launch on the CPU: blocks one after the other, threads in a loop or as fibers.
#pragma once

#include "dynet_like/device/cuda/host/block.h"
#include "dynet_like/device/cuda/host/order.h"
#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda::host {

class Emulator {
 public:
  void set_schedule(const Schedule& schedule);

  /// Throws DeviceError for a shape that no GPU has, and for threads that wait for each other
  /// although they are independent, or wait for what does not happen.
  void execute(const Shape& shape, Threads threads, const Kernel& kernel);

 private:
  Schedule schedule_;
  std::mt19937_64 random_{schedule_.seed};
  CooperatingBlock block_;
};

}  // namespace dynet_like::detail::cuda::host
