// Recording times and bytes on a timeline.
#include "dynet_like/exec/run_timeline.h"

namespace dynet_like::detail {

// The first lane runs shared nodes before the others begin.
TimelineTrack* RunTimeline::use_track() {
  TimelineTrack* const track = lanes_.clock().track = lanes_.first().clock.track = common_.track();
  if (track != nullptr && recorded_since_.has_value()) {
    recorded_since_ = track->not_before(*recorded_since_);
  }
  return track;
}

void RunTimeline::begin_recording() {
  if (common_.timeline == nullptr || recorded_since_.has_value()) return;
  recorded_since_ = TimelineClock::now();
}

void RunTimeline::end_recording(TimelineTrack* track, TimelineClock::time_point end,
                                std::size_t nodes) {
  if (track == nullptr || nodes == 0 || !recorded_since_.has_value()) return;
  track->add(static_cast<std::uint32_t>(TimelineSpan::record), *recorded_since_, end,
             {static_cast<std::uint32_t>(nodes)});
  recorded_since_.reset();
}

void RunTimeline::note_held() {
  if (common_.timeline == nullptr) return;
  held_.note(common_.shared_values.used(), 0, true);
  for (const std::unique_ptr<Lane>& lane : lanes_.all()) {
    lane->run.note_held(lane->backward.bytes());
  }
}

}  // namespace dynet_like::detail
