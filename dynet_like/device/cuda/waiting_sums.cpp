// Which sums may run together, and their lists.
#include "dynet_like/device/cuda/waiting_sums.h"

#include "dynet_like/core/make_room.h"

namespace dynet_like::detail::cuda {

bool WaitingSums::take(DType dtype, const void* sum, std::size_t size, const Addends& addends,
                       SumStart start) const {
  if (segments_.empty()) return true;
  if (dtype != dtype_) return false;
  const std::size_t bytes = size * size_of(dtype);
  for (std::size_t i = 0; i < addends.n; ++i) {
    const auto* from = static_cast<const std::byte*>(addends.dy[i]);
    if (written_.overlaps(from, from + bytes)) return false;
  }
  const auto* const place = static_cast<const std::byte*>(sum);
  const auto same = segment_at_.find(place);
  if (same != segment_at_.end() && start != SumStart::there) return false;
  if (same != segment_at_.end() && segments_[same->second].size == size) return true;
  return !written_.overlaps(place, place + bytes) && !read_.overlaps(place, place + bytes);
}

void WaitingSums::add(DType dtype, void* sum, std::size_t size, const Addends& addends,
                      SumStart start) {
  // Reserve memory first, so that a failure leaves no half of a sum.
  make_room(segments_);
  if (addends_.capacity() < addends_.size() + addends.n) {
    addends_.reserve(2 * (addends_.size() + addends.n));
  }
  const auto* const place = static_cast<const std::byte*>(sum);
  const std::size_t bytes = size * size_of(dtype);
  written_.add(place, place + bytes);
  for (std::size_t i = 0; i < addends.n; ++i) {
    const auto* from = static_cast<const std::byte*>(addends.dy[i]);
    read_.add(from, from + bytes);
  }
  const auto [at, is_new] =
      segment_at_.emplace(place, static_cast<std::uint32_t>(segments_.size()));
  dtype_ = dtype;
  const std::uint32_t segment = at->second;
  if (is_new) segments_.push_back({sum, size, 0, 0, start});
  segments_[segment].count += addends.n;
  for (std::size_t i = 0; i < addends.n; ++i) addends_.emplace_back(segment, addends.dy[i]);
}

std::vector<SumSegment> WaitingSums::list(std::vector<const void*>& addends) const {
  addends.resize(addends_.size());
  std::vector<SumSegment> segments = segments_;
  std::size_t first = 0;
  for (SumSegment& segment : segments) {
    segment.first = first;
    first += segment.count;
    segment.count = 0;
  }
  for (const auto& [index, addend] : addends_) {
    SumSegment& segment = segments[index];
    addends[segment.first + segment.count++] = addend;
  }
  return segments;
}

void WaitingSums::clear() {
  segments_.clear();
  addends_.clear();
  segment_at_.clear();
  read_.clear();
  written_.clear();
}

}  // namespace dynet_like::detail::cuda
