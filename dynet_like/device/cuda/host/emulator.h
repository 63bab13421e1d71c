// Executes a launch on the CPU: blocks one after the other, threads in a loop or as fibers.
#pragma once

#include <functional>
#include <map>

#include "dynet_like/device/cuda/host/block.h"
#include "dynet_like/device/cuda/host/races.h"
#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda::host {

/// Throws DeviceError for a shape that no GPU supports.
void check_shape(const Shape& shape);

class Emulator {
 public:
  /// `races` checks the accesses of kernels.
  explicit Emulator(Races& races) : races_(races) {}

  /// Throws DeviceError if threads declared as independent wait for each other, or if threads wait
  /// for something that cannot happen; and for faults that Races finds. The first launches of each
  /// kernel are checked, and a part of the later ones.
  void execute(const Shape& shape, Threads threads, const Kernel& kernel);

 private:
  void run_blocks(const Shape& shape, Threads threads, const Kernel& kernel);

  Races& races_;
  std::map<const void*, std::uint64_t, std::less<>,
           OwnMemory<std::pair<const void* const, std::uint64_t>>>
      launches_;  ///< by kernel
  CooperatingBlock block_;
};

}  // namespace dynet_like::detail::cuda::host
