// The time that a queue's kernels took, and the timeline that shows it.
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
  /// That of the thread which uses the queue, if there is a timeline.
  TimelineTrack* track = nullptr;
  std::uint32_t nodes = 0;  ///< of the next kernel call; 0: as many as it has items
};

/// The labels of kernel calls. A signature is known by its place, and by what it says: another one
/// may come to the same place.
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
