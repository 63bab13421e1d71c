// Adding events to a timeline, and their limit.
#include "dynet_like/core/timeline.h"

#include <algorithm>
#include <limits>

#include "dynet_like/core/timeline_track.h"

namespace dynet_like {

namespace detail {

namespace {

// Indexed by TimelineSpan.
const TimelineLabel kSpans[] = {
    {"record", "record", "", {"nodes"}},
    {"record samples", "record", "", {"samples"}},
    {"run samples", "record", "", {"samples"}},
    {"wave", "forward", "", {"samples", "nodes", "batches"}},
    {"forward", "forward", "", {"nodes", "batches"}},
    {"lane", "lane", "", {"lane"}},
    {"plan", "plan", "", {"nodes", "batches"}},
    {"recursion", "recursion", "", {"nodes"}},
    {"recursion backward", "recursion", "", {"nodes"}},
    {"backward", "backward", "", {}},
    {"plan gradients", "plan", "", {}},
    {"collect contributions", "gradients", "", {}},
    {"sum gradients of parameters", "gradients", "", {}},
    {"sum of outer products", "gradients", "", {"rows", "columns", "addends"}},
    {"sum", "gradients", "", {"elements", "addends", "calls"}},
    {"finish sums", "device", "", {}},
    {"pack weights", "pack", "", {"rows", "columns"}},
    {"write to device", "device", "", {"bytes"}},
    {"submit", "device", "", {}},
};
static_assert(std::size(kSpans) == static_cast<std::size_t>(TimelineSpan::count));

constexpr auto kNever = std::numeric_limits<TimelineClock::rep>::max();
constexpr std::size_t kLeastStep = 4096;  // bytes
constexpr std::size_t kStepsOfCurve = 256;

}  // namespace

TimelineState::TimelineState(std::size_t most_events)
    : most_events_(most_events), stopped_(kNever) {
  for (const TimelineLabel& span : kSpans) labels_.push_back(span);
  track();  // the first track belongs to the thread that makes the timeline
}

TimelineTrack& TimelineState::track() {
  const std::lock_guard lock(mutex_);
  TimelineTrack*& track = track_of_[std::this_thread::get_id()];
  if (track == nullptr) {
    tracks_.push_back(std::make_unique<TimelineTrack>(*this));
    track = tracks_.back().get();
  }
  return *track;
}

std::uint32_t TimelineState::label(const TimelineLabel& label) {
  if (taken_ >= most_events_ || stopped_ != kNever) return 0;
  const std::lock_guard lock(mutex_);
  const std::string key = label.name + '\n' + label.category + '\n' + label.shapes;
  const auto [known, is_new] = known_labels_.try_emplace(key, labels_.size());
  if (is_new) labels_.push_back(label);
  return known->second;
}

std::uint64_t TimelineState::nanoseconds(TimelineClock::time_point time) const {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin_).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(since, 0));
}

bool TimelineState::take(TimelineClock::time_point begin, TimelineClock::time_point& end) noexcept {
  const TimelineClock::time_point stopped{TimelineClock::duration(stopped_)};
  if (begin >= stopped) return false;
  end = std::min(end, stopped);
  if (taken_.fetch_add(1, std::memory_order_relaxed) < most_events_) return true;
  taken_.fetch_sub(1, std::memory_order_relaxed);
  ++dropped_;
  return false;
}

void TimelineState::hold(std::int64_t values, std::int64_t gradients) noexcept {
  const std::lock_guard lock(held_mutex_);
  values_ += values;
  gradients_ += gradients;
  TimelineClock::time_point now = TimelineClock::now();
  if (!take(now, now)) return;
  try {
    held_.push_back({nanoseconds(now), values_, gradients_});
  } catch (...) {
    --taken_;
    ++dropped_;
  }
}

void TimelineState::stop() {
  TimelineClock::rep never = kNever;
  stopped_.compare_exchange_strong(never, TimelineClock::now().time_since_epoch().count());
}

std::size_t TimelineState::size() const { return taken_; }

void TimelineTrack::add(std::uint32_t label, TimelineClock::time_point begin,
                        TimelineClock::time_point end, const TimelineNumbers& numbers) noexcept {
  boundary_ = end.time_since_epoch().count();
  if (!state.take(begin, end)) return;
  try {
    const std::lock_guard lock(mutex_);
    events_.push_back({state.nanoseconds(begin), state.nanoseconds(end), label, numbers});
  } catch (...) {
    --state.taken_;
    ++state.dropped_;
  }
}

void TimelineTrack::add_to_last(std::uint32_t label, TimelineClock::time_point begin,
                                TimelineClock::time_point end,
                                const TimelineNumbers& numbers) noexcept {
  const bool follows = extended_ != 0 && extended_ == boundary_;
  if (follows && state.runs_at(end)) {
    const std::lock_guard lock(mutex_);
    Event& last = events_.back();
    if (last.label == label) {
      last.end += state.nanoseconds(end) - state.nanoseconds(begin);
      for (std::size_t i = 0; i < numbers.size(); ++i) last.numbers[i] += numbers[i];
      boundary_ = extended_ = end.time_since_epoch().count();
      return;
    }
  }
  const std::size_t before = events_.size();
  add(label, begin, end, numbers);
  extended_ = events_.size() > before ? boundary_.load() : 0;
}

void HeldBytes::note(std::size_t values, std::size_t gradients, bool at_once) noexcept {
  if (state_ == nullptr || (values == values_ && gradients == gradients_)) return;
  const auto step = [](std::size_t a, std::size_t b) { return a < b ? b - a : a - b; };
  const std::size_t change = step(values, values_) + step(gradients, gradients_);
  const std::size_t seen = std::max(kLeastStep, (values_ + gradients_) / kStepsOfCurve);
  if (!at_once && change < seen) return;
  state_->hold(static_cast<std::int64_t>(values - values_),
               static_cast<std::int64_t>(gradients - gradients_));
  values_ = values;
  gradients_ = gradients;
}

}  // namespace detail

Timeline::Timeline(std::size_t most_events)
    : state_(std::make_shared<detail::TimelineState>(most_events)) {}

Timeline::~Timeline() = default;

void Timeline::stop() { state_->stop(); }
std::size_t Timeline::size() const { return state_->size(); }
std::size_t Timeline::dropped() const { return state_->dropped(); }

std::string Timeline::json() const {
  std::string text;
  state_->write_json([&](std::string_view piece) { text += piece; });
  return text;
}

Timeline::Scope::Scope(Timeline& timeline, std::string_view name)
    : state_(timeline.state_),
      track_(state_->track()),
      label_(state_->label({std::string(name), "program"})),
      begin_(track_.begin().time_since_epoch().count()) {}

Timeline::Scope::~Scope() {
  using Clock = detail::TimelineClock;
  track_.add(label_, Clock::time_point(Clock::duration(begin_)), Clock::now());
}

}  // namespace dynet_like
