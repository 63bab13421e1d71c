// The time that a queue's kernels take, and the timeline that shows it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet_like/core/timeline_track.h"
#include "dynet_like/ops/op.h"

namespace dynet_like::detail {

struct KernelClock {
  double seconds = 0;
  /// The track of the thread that uses the queue, if there is a timeline.
  TimelineTrack* track = nullptr;
  std::uint32_t nodes = 0;  ///< of the next kernel call; 0 means as many as it has items
};

/// The labels of kernel calls. A signature is recognised by its address and its contents, since
/// another one may later have the same address.
class KernelLabels {
 public:
  std::uint32_t of(TimelineState& timeline, const Signature& type, bool backward);

 private:
  struct Known {
    std::string name;
    std::vector<Dim> inputs;
    std::vector<std::uint8_t> shared;
    Dim output;
    std::uint32_t labels[2];  ///< forward and backward

    bool is(const Signature& type) const;
  };
  std::unordered_map<const Signature*, Known> known_;
};

}  // namespace dynet_like::detail
