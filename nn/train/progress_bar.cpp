// Drawing of the progress bar, at most ten times a second.
#include "nn/train/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

namespace dynet_like::nn {

namespace {

constexpr std::size_t kBarWidth = 20;
constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);

}  // namespace

ProgressBar::ProgressBar(std::string title, std::size_t total, std::string unit, std::size_t done,
                         bool is_shown)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      done_(std::min(done, total)),
      first_(done_),
      is_drawn_(is_shown && isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (is_drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::advance(std::size_t count, double loss) {
  done_ = std::min(done_ + count, total_);
  const Clock::time_point now = Clock::now();
  if (!is_drawn_ || now - last_drawn_ < kBetweenDrawings) return;
  last_drawn_ = now;
  draw(loss);
}

void ProgressBar::draw(double loss) const {
  const double share = total_ == 0 ? 1 : static_cast<double>(done_) / static_cast<double>(total_);
  const auto filled = std::min(kBarWidth, static_cast<std::size_t>(share * kBarWidth));
  std::string bar(filled, '=');
  if (filled < kBarWidth) bar += '>' + std::string(kBarWidth - filled - 1, ' ');
  const double speed = units_per_second();
  const auto left = speed > 0 ? static_cast<long>(static_cast<double>(total_ - done_) / speed) : 0;
  // Writes the line at once, and clears the rest of the previous one. fmt::print would throw if the
  // terminal was closed.
  const std::string line =
      fmt::format("\r{} [{}] {:3.0f} %  {:6.0f} {}/s  loss {:.4f}  {}:{:02} left\x1b[K", title_,
                  bar, 100 * share, speed, unit_, loss, left / 60, left % 60);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

double ProgressBar::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double ProgressBar::units_per_second() const {
  const double elapsed = seconds();
  return elapsed > 0 ? static_cast<double>(done_ - first_) / elapsed : 0;
}

}  // namespace dynet_like::nn
