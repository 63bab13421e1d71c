// A timeline: what ran when and on which thread, over a few minibatches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace dynet_like {

namespace detail {
class TimelineState;
class TimelineTrack;
}  // namespace detail

/// Keeps events of the graphs whose GraphOptions::timeline points here: recording, planning, kernel
/// calls, sums of gradients. It also keeps the bytes that these graphs hold. It is thread-safe, and
/// several graphs and minibatches may share one.
class Timeline {
 public:
  static constexpr std::size_t kMostEvents = 1'000'000;

  /// Counts and drops events beyond `most_events`.
  explicit Timeline(std::size_t most_events = kMostEvents);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// An event of your own, from the construction of this object to the end of its scope.
  class Scope;
  /// Records f() as an event and returns its result.
  template <class F>
  decltype(auto) time(std::string_view name, F&& f);

  /// From now on no event is added. Events that have not ended end here.
  void stop();
  /// The number of events kept, and of events dropped.
  std::size_t size() const;
  std::size_t dropped() const;

  /// The trace event format, for ui.perfetto.dev and chrome://tracing.
  std::string json() const;
  /// Writes it to a file, which is replaced as a whole or not at all. Throws FileError.
  void save(const std::string& path) const;

  const std::shared_ptr<detail::TimelineState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::TimelineState> state_;  ///< shared with graphs, which may live longer
};

class Timeline::Scope {
 public:
  Scope(Timeline& timeline, std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::shared_ptr<detail::TimelineState> state_;
  detail::TimelineTrack& track_;
  std::uint32_t label_;
  std::int64_t begin_;  ///< ticks of the steady clock
};

template <class F>
decltype(auto) Timeline::time(std::string_view name, F&& f) {
  const Scope scope(*this, name);
  return std::forward<F>(f)();
}

}  // namespace dynet_like
