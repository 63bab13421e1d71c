// A progress bar with speed, loss and time left, on the terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dynet_like::nn {

/// One line on standard error that is drawn again and again:
///   epoch 2/9 [=========>         ]  47 %   5120 trees/s   loss 0.2134   0:07 left
/// Where standard error is no terminal, nothing is drawn.
class ProgressBar {
 public:
  /// `total` units of work, of which `done` were done before; `unit` is their name, such as
  /// "trees". It is not drawn unless `is_shown`.
  ProgressBar(std::string title, std::size_t total, std::string unit, std::size_t done = 0,
              bool is_shown = true);
  /// Clears the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `count` more units are done; `loss` is what to show as the loss.
  void advance(std::size_t count, double loss);

  /// Since the start, the work that was done before left out.
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
