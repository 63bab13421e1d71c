// The data of a timeline: the events of each thread, with labels that they share.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace dynet_like::detail {

using TimelineClock = std::chrono::steady_clock;
using TimelineNumbers = std::array<std::uint32_t, 3>;

/// What many events have in common.
struct TimelineLabel {
  std::string name;
  const char* category = "";
  std::string shapes = {};
  std::array<const char*, 3> numbers{};  ///< names of an event's numbers; null: no more
};

/// The numbers of the labels that every timeline has.
enum class TimelineSpan : std::uint32_t {
  record,
  record_samples,
  run_samples,
  wave,
  forward,
  lane,
  plan,
  recursion,
  recursion_backward,
  backward,
  plan_gradients,
  collect,
  sum_parameters,
  outer_products,
  sum,
  finish_sums,
  pack,
  write,
  submit,
  count
};

/// Elements never move: growing must not move a million of them between two kernel calls.
template <class T>
class TimelineList {
 public:
  void push_back(const T& element) {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<T[]>(kChunk));
    chunks_[size_ / kChunk][size_ % kChunk] = element;
    ++size_;
  }
  std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  T& back() { return chunks_[(size_ - 1) / kChunk][(size_ - 1) % kChunk]; }

 private:
  static constexpr std::size_t kChunk = 4096;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

class TimelineState;

/// The events of one thread, in the order in which they end. Times are nanoseconds since the
/// timeline began.
class TimelineTrack {
 public:
  struct Event {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t label = 0;
    TimelineNumbers numbers{};
  };
  explicit TimelineTrack(TimelineState& state) : state(state) {}

  /// Drops the event if the timeline is full or there is no memory.
  void add(std::uint32_t label, TimelineClock::time_point begin, TimelineClock::time_point end,
           const TimelineNumbers& numbers = {}) noexcept;

  /// For short calls, of which there are many: if the last event has the same label and nothing
  /// came in between, this call extends it by its duration and adds its numbers.
  void add_to_last(std::uint32_t label, TimelineClock::time_point begin,
                   TimelineClock::time_point end, const TimelineNumbers& numbers) noexcept;
  /// Begins an event that may contain others.
  TimelineClock::time_point begin() noexcept {
    const TimelineClock::time_point now = TimelineClock::now();
    boundary_ = now.time_since_epoch().count();
    return now;
  }
  /// The later of `time` and the last boundary. An event that is reported afterwards must begin
  /// there, so that it does not overlap others.
  TimelineClock::time_point not_before(TimelineClock::time_point time) const {
    return std::max(time, TimelineClock::time_point(TimelineClock::duration(boundary_)));
  }

  TimelineState& state;

 private:
  friend class TimelineState;

  mutable std::mutex mutex_;
  std::atomic<TimelineClock::rep> boundary_ = 0;  ///< where an event last began or ended
  TimelineClock::rep extended_ = 0;               ///< end of an event that add_to_last may extend
  TimelineList<Event> events_;
};

class TimelineState {
 public:
  explicit TimelineState(std::size_t most_events);

  /// The track of the calling thread.
  TimelineTrack& track();
  /// The number of a label; equal labels share one. 0 when the timeline is full or stopped.
  std::uint32_t label(const TimelineLabel& label);
  /// Changes the bytes that all graphs hold together by these differences.
  void hold(std::int64_t values, std::int64_t gradients) noexcept;
  void stop();
  std::size_t size() const;
  std::size_t dropped() const { return dropped_; }
  /// Writes the file piece by piece.
  void write_json(const std::function<void(std::string_view)>& write) const;

 private:
  friend class TimelineTrack;
  struct Row;
  struct Held {
    std::uint64_t at = 0;
    std::int64_t values = 0, gradients = 0;
  };

  /// Reserves room for one event; false if there is none. Ends the event where the timeline
  /// stopped.
  bool take(TimelineClock::time_point begin, TimelineClock::time_point& end) noexcept;
  bool runs_at(TimelineClock::time_point time) const {
    return time.time_since_epoch().count() < stopped_;
  }
  std::uint64_t nanoseconds(TimelineClock::time_point time) const;
  std::vector<Row> rows() const;

  const std::size_t most_events_;
  const TimelineClock::time_point origin_ = TimelineClock::now();
  std::atomic<std::size_t> taken_ = 0, dropped_ = 0;
  std::atomic<TimelineClock::rep> stopped_;  ///< since the clock's epoch

  mutable std::mutex held_mutex_;
  std::int64_t values_ = 0, gradients_ = 0;
  TimelineList<Held> held_;

  mutable std::mutex mutex_;
  std::vector<TimelineLabel> labels_;
  std::map<std::string, std::uint32_t> known_labels_;
  std::vector<std::unique_ptr<TimelineTrack>> tracks_;
  std::map<std::thread::id, TimelineTrack*> track_of_;
};

/// An event of the library, which lasts as long as this object; does nothing if `track` is null.
class TimelineScope {
 public:
  TimelineScope(TimelineTrack* track, std::uint32_t label) : track_(track), label_(label) {
    if (track_ != nullptr) begin_ = track_->begin();
  }
  TimelineScope(TimelineTrack* track, TimelineSpan span)
      : TimelineScope(track, static_cast<std::uint32_t>(span)) {}
  ~TimelineScope() {
    if (track_ != nullptr) track_->add(label_, begin_, TimelineClock::now(), numbers_);
  }
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

  void count(std::size_t first, std::size_t second = 0, std::size_t third = 0) {
    numbers_ = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second),
                static_cast<std::uint32_t>(third)};
  }
  /// Records no event.
  void leave_out() { track_ = nullptr; }
  TimelineClock::time_point begin() const { return begin_; }
  /// Whether no other event began or ended since this one began.
  bool is_empty() const { return track_ == nullptr || track_->not_before(begin_) == begin_; }

 private:
  TimelineTrack* track_;
  std::uint32_t label_;
  TimelineClock::time_point begin_{};
  TimelineNumbers numbers_{};
};

/// The bytes of one owner in the sum over all graphs. The first and the last change are reported at
/// once, those in between in steps that are large enough to show in a curve.
class HeldBytes {
 public:
  HeldBytes() = default;
  explicit HeldBytes(std::shared_ptr<TimelineState> state) : state_(std::move(state)) {}
  ~HeldBytes() { note(0, 0, true); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  /// `at_once`: reports the change however small it is.
  void note(std::size_t values, std::size_t gradients, bool at_once = false) noexcept;
  /// Changes only the bytes of values.
  void note_values(std::size_t values) noexcept { note(values, gradients_); }

 private:
  std::shared_ptr<TimelineState> state_;
  std::size_t values_ = 0, gradients_ = 0;
};

}  // namespace dynet_like::detail
