// A timeline: what ran when, and on which thread, for a picture of a few minibatches.
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

/// Keeps an event for each thing that graphs do which GraphOptions::timeline gave it to: recording,
/// planning, kernel calls, sums of gradients; and the bytes that they hold. It is thread-safe, and
/// several graphs and minibatches may share one.
class Timeline {
 public:
  static constexpr std::size_t kMostEvents = 1'000'000;

  /// Events beyond so many are dropped, and counted.
  explicit Timeline(std::size_t most_events = kMostEvents);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// An event of the program's own, from here to the end of the scope.
  class Scope;
  /// The same for what f() does, which it returns.
  template <class F>
  decltype(auto) time(std::string_view name, F&& f);

  /// From now on nothing is added. What has not ended ends here.
  void stop();
  /// How many events there are, and how many found no room.
  std::size_t size() const;
  std::size_t dropped() const;

  /// In the trace event format, for ui.perfetto.dev and chrome://tracing.
  std::string json() const;
  /// The same as a file, which is replaced as a whole or not at all. Throws FileError.
  void save(const std::string& path) const;

  const std::shared_ptr<detail::TimelineState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::TimelineState> state_;  ///< graphs that outlive the timeline have it, too
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
