// Blocks: all threads run until each waits; then the threads whose wait is over continue.
#include "dynet_like/device/cuda/host/block.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::detail::cuda::host {

namespace {

constexpr unsigned kLanes = 32, kWholeWarp = 0xffffffffu;
constexpr std::size_t kLargestShared = std::size_t{48} << 10;

std::string text(Place place) { return std::string(place.file) + ":" + std::to_string(place.line); }

std::string text(const Index& thread) {
  const Index& block = position.block;
  return "thread (" + std::to_string(thread.x) + ", " + std::to_string(thread.y) + ") of block (" +
         std::to_string(block.x) + ", " + std::to_string(block.y) + ", " + std::to_string(block.z) +
         ")";
}

}  // namespace

void* SharedMemory::array(Place place, const void* id, std::size_t size) {
  auto found = std::find_if(arrays_.begin(), arrays_.end(),
                            [&](const Array& array) { return array.id == id; });
  if (found == arrays_.end()) {
    arrays_.push_back({id, size, false, std::make_unique<std::byte[]>(size),
                       std::make_unique<Visits[]>(size / 4 + 1)});
    found = arrays_.end() - 1;
  }
  if (!found->used) {
    used_ += size;
    if (used_ > kLargestShared) {
      throw DeviceError("[cuda-host] need at most " + counted(kLargestShared, "byte") +
                        " of shared memory; got " + std::to_string(used_) + " at " + text(place));
    }
    found->used = true;
    std::memset(found->memory.get(), 0xff, size);
    if (Races* const races = Races::running(); races != nullptr) {
      races->share(found->memory.get(), size, found->visits.get());
    }
  }
  return found->memory.get();
}

void SharedMemory::reset() {
  for (Array& array : arrays_) array.used = false;
  used_ = 0;
  if (Races* const races = Races::running(); races != nullptr) races->unshare();
}

void CooperatingBlock::run(unsigned threads, const Kernel& kernel) {
  while (threads_.size() < threads) {
    threads_.push_back(std::make_unique<Thread>(static_cast<unsigned>(threads_.size()), *this));
  }
  count_ = threads;
  kernel_ = kernel;
  shared_.reset();
  const unsigned width = position.block_size.x;
  for (unsigned t = 0; t < count_; ++t) {
    Thread& thread = *threads_[t];
    thread.index = {t % width, t / width, 0};
    thread.state = State::ready;
    thread.fiber.set_function(run_thread, &thread);
  }
  try {
    do {
      run_ready();
      if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    } while (release_warps() || release_barrier());
  } catch (...) {
    abandon();
    throw;
  }
}

void CooperatingBlock::run_thread(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  CooperatingBlock& block = thread.block;
  try {
    if (!block.abandoned_) block.kernel_.run(block.kernel_.kernel);
  } catch (const Abandoned&) {
  } catch (...) {
    if (block.error_ == nullptr) block.error_ = std::current_exception();
  }
  thread.state = State::returned;
}

void CooperatingBlock::run_ready() {
  for (unsigned t = 0; t < count_; ++t) {
    Thread& thread = *threads_[t];
    if (thread.state != State::ready) continue;
    if (Races* const races = Races::running(); races != nullptr) {
      races->moment.thread = static_cast<std::uint16_t>(t);
      races->moment.warp_barriers = warp_barriers_[t / kLanes];
    }
    position.thread = thread.index;
    running_ = &thread;
    thread.fiber.resume();
    if (error_ != nullptr) return;
  }
}

void CooperatingBlock::wait(State state, Place place) {
  Thread& self = *running_;
  self.state = state;
  self.place = place;
  self.fiber.yield();
  if (abandoned_) throw Abandoned();
}

void CooperatingBlock::barrier(Place place) { wait(State::at_barrier, place); }

std::uint64_t CooperatingBlock::exchange(Place place, unsigned mask, std::uint64_t bits,
                                         unsigned from, bool orders_memory) {
  Thread& self = *running_;
  if (mask != kWholeWarp) {
    throw DeviceError("[cuda-host] need the mask of a whole warp; got " + std::to_string(mask) +
                      " at " + text(place) + " in " + text(self.index));
  }
  self.bits = bits;
  self.from = from;
  self.orders_memory = orders_memory;
  wait(State::in_warp, place);
  return self.bits;
}

// A warp continues when all of its threads wait at the same place.
bool CooperatingBlock::release_warps() {
  bool any = false;
  for (unsigned warp = 0; warp + kLanes <= count_; warp += kLanes) {
    if (threads_[warp]->state != State::in_warp || find_absent(warp) != nullptr) continue;
    exchange_bits(warp);
    any = true;
  }
  return any;
}

// A thread of the warp that does not wait where its first thread does.
const CooperatingBlock::Thread* CooperatingBlock::find_absent(unsigned warp) const {
  const Thread& first = *threads_[warp];
  for (unsigned t = warp; t < std::min(warp + kLanes, count_); ++t) {
    const Thread& thread = *threads_[t];
    if (thread.state != first.state || thread.place != first.place) return &thread;
  }
  return nullptr;
}

void CooperatingBlock::exchange_bits(unsigned warp) {
  std::uint64_t given[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) given[lane] = threads_[warp + lane]->bits;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Thread& thread = *threads_[warp + lane];
    if (thread.from < kLanes) thread.bits = given[thread.from];
    thread.state = State::ready;
  }
  if (threads_[warp]->orders_memory) ++warp_barriers_[warp / kLanes];
}

// Returns false if all threads have returned.
bool CooperatingBlock::release_barrier() {
  const Thread& first = *threads_[0];
  for (unsigned t = 0; t < count_; ++t) {
    const Thread& thread = *threads_[t];
    const bool is_same = thread.state == first.state &&
                         (thread.state == State::returned || thread.place == first.place);
    if (!is_same || thread.state == State::in_warp) throw_stuck();
  }
  if (first.state == State::returned) return false;
  for (unsigned t = 0; t < count_; ++t) threads_[t]->state = State::ready;
  if (Races* const races = Races::running(); races != nullptr) ++races->moment.barriers;
  return true;
}

void CooperatingBlock::throw_stuck() const {
  const auto describe = [&](const Thread& thread) {
    const bool waits = thread.state == State::at_barrier;
    if (!waits && thread.state != State::in_warp) return text(thread.index) + " returned";
    return text(thread.index) + (waits ? " at the barrier " : " in the warp operation ") +
           text(thread.place);
  };
  // A warp operation in which a lane does not take part.
  for (unsigned t = 0; t < count_; ++t) {
    if (threads_[t]->state != State::in_warp) continue;
    const unsigned warp = t / kLanes * kLanes;
    const Thread* const absent = find_absent(warp);
    throw DeviceError("[cuda-host] need all lanes of a warp in the same operation; got " +
                      describe(absent == nullptr ? *threads_[t] : *threads_[warp]) + " and " +
                      (absent == nullptr ? "no 32 threads" : describe(*absent)));
  }
  // A barrier that some threads do not reach.
  const auto other = std::find_if(threads_.begin(), threads_.begin() + count_, [&](auto& thread) {
    return thread->state != threads_[0]->state || thread->place != threads_[0]->place;
  });
  throw DeviceError("[cuda-host] need all threads of a block at one barrier; got " +
                    describe(*threads_[0]) + " and " + describe(**other));
}

// Threads in the middle of a kernel leave it. Threads that have not begun do not begin.
void CooperatingBlock::abandon() noexcept {
  abandoned_ = true;
  for (unsigned t = 0; t < count_; ++t) {
    Thread& thread = *threads_[t];
    if (thread.state == State::returned) continue;
    running_ = &thread;
    thread.fiber.resume();
  }
  abandoned_ = false;
  error_ = nullptr;
}

}  // namespace dynet_like::detail::cuda::host
