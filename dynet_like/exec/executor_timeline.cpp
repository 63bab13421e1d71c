// What an executor tells a timeline beside kernel calls: recording, bytes.
#include "dynet_like/exec/executor.h"

namespace dynet_like::detail {

TimelineTrack* Executor::track() const {
  return common_.timeline == nullptr ? nullptr : &common_.timeline->track();
}

// Kernel calls of the queue with all threads are events of the caller. Recording is told of late:
// what has become an event meanwhile is none of it.
TimelineTrack* Executor::use_track() {
  clock_.track = lanes_[0]->clock.track = track();  // the first lane has shared nodes before others
  if (clock_.track != nullptr && recorded_since_.has_value()) {
    recorded_since_ = clock_.track->not_before(*recorded_since_);
  }
  return clock_.track;
}

// From the first new graph, or the end of a run: recording, and whatever else the program does.
void Executor::note_recording_begins() {
  if (common_.timeline == nullptr || recorded_since_.has_value()) return;
  recorded_since_ = TimelineClock::now();
}

void Executor::note_recording(TimelineTrack* track, TimelineClock::time_point end,
                              std::size_t nodes) {
  if (track == nullptr || nodes == 0 || !recorded_since_.has_value()) return;
  track->add(static_cast<std::uint32_t>(TimelineSpan::record), *recorded_since_, end,
             {static_cast<std::uint32_t>(nodes)});
  recorded_since_.reset();
}

// Of all lanes, those that are not in use any more too.
void Executor::note_held() {
  if (common_.timeline == nullptr) return;
  held_.note(common_.shared_values.used(), 0, true);
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    lane->run.gradient_bytes = lane->backward.bytes();
    lane->run.note_held(true);
  }
}

}  // namespace dynet_like::detail
