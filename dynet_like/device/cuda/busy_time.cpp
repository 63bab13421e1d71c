// Marks around submissions. They are reused after the device has passed them.
#include "dynet_like/device/cuda/busy_time.h"

#include "dynet_like/core/make_room.h"

namespace dynet_like::detail::cuda {

namespace {

// If so many are under way, it is time to find out which have ended.
constexpr std::size_t kMostUnderWay = 256;

}  // namespace

BusyTime::~BusyTime() {
  for (const std::vector<Marks>* list : {&under_way_, &free_}) {
    for (const auto& [first, last] : *list) {
      runtime_.free_mark(first);
      runtime_.free_mark(last);
    }
  }
}

void BusyTime::begin_submission() {
  if (under_way_.size() >= kMostUnderWay) seconds();
  make_room(free_);
  if (free_.empty()) {
    const Mark first = runtime_.make_mark(MarkKind::timed);
    free_.emplace_back(first, runtime_.make_mark(MarkKind::timed));
  }
  make_room(under_way_);
  runtime_.mark(free_.back().first);
}

void BusyTime::end_submission() {
  runtime_.mark(free_.back().second);
  under_way_.push_back(free_.back());
  free_.pop_back();
}

double BusyTime::seconds() {
  std::size_t ended = 0;
  while (ended < under_way_.size() && runtime_.has_passed(under_way_[ended].second)) ++ended;
  for (std::size_t i = 0; i < ended; ++i) {
    seconds_ += runtime_.seconds_between(under_way_[i].first, under_way_[i].second);
  }
  const auto end = under_way_.begin() + static_cast<std::ptrdiff_t>(ended);
  free_.insert(free_.end(), under_way_.begin(), end);
  under_way_.erase(under_way_.begin(), end);
  return seconds_;
}

}  // namespace dynet_like::detail::cuda
