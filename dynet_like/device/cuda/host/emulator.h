// Executes a launch on the CPU: blocks one after the other, threads in a loop or as fibers.
#pragma once

#include <functional>
#include <map>

#include "dynet_like/device/cuda/host/block.h"
#include "dynet_like/device/cuda/host/order.h"
#include "dynet_like/device/cuda/host/races.h"
#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda::host {

/// Throws DeviceError for a shape that no GPU has.
void check_shape(const Shape& shape);

class Emulator {
 public:
  /// `races` looks at what kernels do.
  explicit Emulator(Races& races) : races_(races) {}

  void set_schedule(const Schedule& schedule);

  /// Throws DeviceError for threads that wait for each other although they are independent, or wait
  /// for what does not happen; and what Races finds: the first launches of each kernel are looked
  /// at, and then some.
  void execute(const Shape& shape, Threads threads, const Kernel& kernel);

 private:
  Races& races_;
  std::map<const void*, std::uint64_t, std::less<>,
           OwnMemory<std::pair<const void* const, std::uint64_t>>>
      launches_;  ///< of every kernel
  Schedule schedule_;
  std::mt19937_64 random_{schedule_.seed};
  CooperatingBlock block_;
};

}  // namespace dynet_like::detail::cuda::host
