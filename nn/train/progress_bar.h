// ProgressBar: shows progress, speed, loss and time left on the terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dynet_like::nn {

/// One line on standard error that is redrawn:
///   epoch 2/9 [=========>         ]  47 %   5120 trees/s   loss 0.2134   0:07 left
/// Draws nothing if standard error is not a terminal.
class ProgressBar {
 public:
  /// For `total` units of work, of which `done` are done already; `unit` is their name, such as
  /// "trees". Draws nothing unless `is_shown`.
  ProgressBar(std::string title, std::size_t total, std::string unit, std::size_t done = 0,
              bool is_shown = true);
  /// Clears the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Counts `count` more units as done, and shows `loss`.
  void advance(std::size_t count, double loss);

  /// Since the start, without the work that was already done then.
  double seconds() const;
  double units_per_second() const;

 private:
  using Clock = std::chrono::steady_clock;

  void draw(double loss) const;

  std::string title_, unit_;
  std::size_t total_, done_, first_;
  bool is_drawn_;
  Clock::time_point start_ = Clock::now(), last_drawn_;
};

}  // namespace dynet_like::nn
