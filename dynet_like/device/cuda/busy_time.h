// How long a device was at work, for benchmarks.
#pragma once

#include <utility>
#include <vector>

#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda {

/// Adds up the time of submissions, each from a timed mark before it to one behind it. If the
/// device waits in between, for a host that launches more slowly than kernels run, that counts as
/// well: nothing but a profiler sees it.
class BusyTime {
 public:
  explicit BusyTime(Runtime& runtime) : runtime_(runtime) {}
  ~BusyTime();
  BusyTime(const BusyTime&) = delete;
  BusyTime& operator=(const BusyTime&) = delete;

  void begin_submission();
  void end_submission();
  /// Of the submissions that have ended on the device.
  double seconds();

 private:
  using Marks = std::pair<Mark, Mark>;

  Runtime& runtime_;
  std::vector<Marks> under_way_;  ///< the oldest first
  std::vector<Marks> free_;
  double seconds_ = 0;
};

}  // namespace dynet_like::detail::cuda
