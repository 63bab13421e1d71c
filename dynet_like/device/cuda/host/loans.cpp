// Notes of memory that was lent or taken back, and the calls between them.
#include "dynet_like/device/cuda/host/loans.h"

#include <functional>
#include <new>

#include "dynet_like/device/cuda/host/driver.h"
#include "dynet_like/device/cuda/host/lent_memory.h"

namespace dynet_like::detail::cuda {

using Lock = std::lock_guard<std::mutex>;

void Loans::lend(const void* memory, std::size_t size) {
  const Lock lock(mutex_);
  notes_.push_back({static_cast<const std::byte*>(memory), size, true});
}

void Loans::take_back(const void* memory, std::size_t size) noexcept {
  const Lock lock(mutex_);
  try {
    notes_.push_back({static_cast<const std::byte*>(memory), size, false});
  } catch (const std::bad_alloc&) {
  }
}

void Loans::expect_call(std::size_t place) {
  const Lock lock(mutex_);
  const std::uint64_t now = brought_ + notes_.size();
  expected_.resize(place + 1);
  expected_[place] = {late_ ? late_since_ : now, now};
  last_call_ = now;
}

void Loans::begin_late_calls() {
  const Lock lock(mutex_);
  late_ = true;
  late_since_ = last_call_;
}
void Loans::end_late_calls() {
  const Lock lock(mutex_);
  late_ = false;
}

void Loans::begin_calls() {
  const Lock lock(mutex_);
  in_calls_ = true;
  next_ = 0;
}
void Loans::end_calls() noexcept {
  const Lock lock(mutex_);
  in_calls_ = false;
  expected_.clear();
}

Loans::Period Loans::next_call() {
  const Lock lock(mutex_);
  if (in_calls_ && next_ < expected_.size()) return expected_[next_++];
  const std::uint64_t now = brought_ + notes_.size();
  return {now, now};
}

void Loans::bring(const Period& asked, host::LentMemory& memory) {
  const Lock lock(mutex_);
  for (; brought_ < asked.from; ++brought_, notes_.pop_front()) {
    const Note& note = notes_.front();
    note.lends ? memory.open(note.memory, note.size) : memory.close(note.memory, note.size);
  }
  for (std::uint64_t i = brought_; i < asked.to; ++i) {
    const Note& note = notes_[i - brought_];
    if (note.lends) memory.open(note.memory, note.size);
  }
}

void Loans::forget(const void* memory, std::size_t size) noexcept {
  const Lock lock(mutex_);
  const auto* const begin = static_cast<const std::byte*>(memory);
  for (Note& note : notes_) {
    const bool is_inside =
        !std::less<>()(note.memory, begin) && std::less<>()(note.memory, begin + size);
    if (is_inside) note.size = 0;
  }
}

Loans& loans_of(CUstream_st* stream) { return stream->loans; }

}  // namespace dynet_like::detail::cuda
