// How long a device was busy, for benchmarks.
#pragma once

#include <utility>
#include <vector>

#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda {

/// Sums up the time of submissions, each from a timed mark before it to one behind it. That
/// includes idle time within a submission, when the host launches more slowly than kernels run:
/// only a profiler can tell it apart.
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
