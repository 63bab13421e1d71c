// SampleOrder, under one mutex: a sample takes much longer than a lock.
#include "dynet_like/graph/sample_order.h"

namespace dynet_like {

namespace {

// Ends a sample whose recording would have come after one that failed; nobody sees it.
struct Abandoned {};

}  // namespace

std::optional<std::size_t> SampleOrder::next() {
  const std::lock_guard lock(mutex_);
  if (failed_ || next_ == is_done_.size()) return std::nullopt;
  return next_++;
}

void SampleOrder::finish(std::size_t sample, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (failure != nullptr && (!failed_ || sample < *failed_)) {
    failed_ = sample;
    failure_ = std::move(failure);
  }
  is_done_[sample] = true;
  while (first_open_ < is_done_.size() && is_done_[first_open_]) ++first_open_;
  progress_.notify_all();
}

void SampleOrder::wait_for_those_before(std::size_t sample) {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [&] { return first_open_ >= sample; });
  if (failed_ && *failed_ < sample) throw Abandoned();
}

}  // namespace dynet_like
