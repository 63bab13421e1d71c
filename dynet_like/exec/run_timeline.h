// What an executor tells a timeline beside kernel calls: recording, and bytes that are held.
#pragma once

#include <cstddef>
#include <optional>

#include "dynet_like/exec/lanes.h"

namespace dynet_like::detail {

/// Does nothing without a timeline.
class RunTimeline {
 public:
  RunTimeline(CommonState& common, Lanes& lanes)
      : common_(common), lanes_(lanes), held_(common.timeline) {}

  /// The track of the calling thread, where kernel calls of the queue with all threads go from now
  /// on; null without a timeline.
  TimelineTrack* use_track();
  /// From the first new graph, or the end of a run: recording, and whatever else the program does.
  void begin_recording();
  /// Is told of late: what has become an event meanwhile is none of it.
  void end_recording(TimelineTrack* track, TimelineClock::time_point end, std::size_t nodes);
  /// What is recorded from here on is told of as recorded by others.
  void forget_recording() { recorded_since_.reset(); }
  /// Bytes of all lanes, those that are not in use any more too.
  void note_held();

 private:
  CommonState& common_;
  Lanes& lanes_;
  HeldBytes held_;  ///< by shared values; lanes have their own
  std::optional<TimelineClock::time_point> recorded_since_;
};

}  // namespace dynet_like::detail
