// SampleOrder: one mutex is enough, since a sample takes much longer than a lock.
#include "dynet_like/graph/sample_order.h"

namespace dynet_like::detail {

namespace {

// Ends a sample that comes after one that failed. Nobody sees this exception.
struct Abandoned {};

}  // namespace

std::optional<std::size_t> SampleOrder::next() {
  const std::lock_guard lock(mutex_);
  if (failure_ || next_ == is_done_.size()) return std::nullopt;
  return next_++;
}

void SampleOrder::finish(std::size_t sample, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (failure != nullptr && (!failure_ || sample < failure_->sample)) {
    failure_ = SampleFailure{sample, std::move(failure)};
  }
  is_done_[sample] = true;
  go_on();
  progress_.notify_all();
}

void SampleOrder::go_on() {
  while (first_open_ < is_done_.size() && is_done_[first_open_]) ++first_open_;
}

void SampleOrder::wait_for_those_before(std::size_t sample) {
  std::unique_lock lock(mutex_);
  const auto is_abandoned = [&] { return failure_ && failure_->sample < sample; };
  progress_.wait(lock, [&] { return first_open_ >= sample || is_abandoned(); });
  if (is_abandoned()) throw Abandoned();
}

}  // namespace dynet_like::detail
