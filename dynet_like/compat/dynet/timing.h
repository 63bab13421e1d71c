// DyNet's timing.h: measures how long something takes.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace dynet {

/// A stopwatch that starts with its construction.
class Timing {
 public:
  /// Milliseconds since the construction.
  double stop() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Prints "[message N ms]" to standard error when it is destroyed.
class Timer {
 public:
  explicit Timer(const std::string& message) : message_(message) {}
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  std::string message_;
  Timing timing_;
};

/// Adds up the times between `start` and `stop`, by name.
class NamedTimer {
 public:
  void start(const std::string& name) { running_.insert_or_assign(name, Timing()); }
  /// Throws UsageError for a name that was not started.
  void stop(const std::string& name);
  /// Prints the sums to standard error, one per line.
  void show() const;

 private:
  std::map<std::string, Timing> running_;
  std::map<std::string, double> milliseconds_;
};

}  // namespace dynet
