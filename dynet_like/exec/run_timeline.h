// What an executor reports to a timeline besides kernel calls: recording, and bytes in use.
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

  /// The track of the calling thread, to which kernel calls of the queue with all threads are
  /// reported from now on; null without a timeline.
  TimelineTrack* use_track();
  /// Starts the time of recording, at the first new graph or at the end of a run. It includes
  /// whatever else the program does.
  void begin_recording();
  /// The event is added afterwards, and excludes the time of events that were added meanwhile.
  void end_recording(TimelineTrack* track, TimelineClock::time_point end, std::size_t nodes);
  /// From now on somebody else reports recording.
  void forget_recording() { recorded_since_.reset(); }
  /// The bytes of all lanes, including those no longer in use.
  void note_held();

 private:
  CommonState& common_;
  Lanes& lanes_;
  HeldBytes held_;  ///< for shared values; lanes have their own
  std::optional<TimelineClock::time_point> recorded_since_;
};

}  // namespace dynet_like::detail
