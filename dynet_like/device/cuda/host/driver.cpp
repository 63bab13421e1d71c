// The rules of the driver: which calls are valid, and when queued work runs.
#include "dynet_like/device/cuda/host/driver.h"

#include <unistd.h>

#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/faults.h"

namespace dynet_like::detail::cuda::host {

namespace {

constexpr std::size_t kAddresses = std::size_t{16} << 30;

std::uint64_t digest_of(const void* at, std::size_t size) {
  return std::hash<std::string_view>()({static_cast<const char*>(at), size});
}

void need_unchanged(const Work& work) {
  if (work.here == nullptr || digest_of(work.here, work.size) == work.digest) return;
  throw DeviceError("[cuda-host] need " + counted(work.size, "byte") +
                    " of this process as they were until they were copied; got others: a "
                    "wait is missing");
}

bool overlaps(const Work& work, const void* at, std::size_t size) {
  const auto* const here = static_cast<const std::byte*>(work.here);
  const auto* const begin = static_cast<const std::byte*>(at);
  return here != nullptr && here < begin + size && begin < here + work.size;
}

}  // namespace

int& current_device() {
  static thread_local int device = 0;
  return device;
}

cudaError_t& last_error() {
  static thread_local cudaError_t error = cudaSuccess;
  return error;
}

Driver& Driver::get() {
  static Driver* const driver = new Driver();
  return *driver;
}

Driver::Driver() : memory_(kAddresses), process_(::getpid()) {}

Driver::Call::Call(Kind kind) : lock_(Driver::get().mutex_) {
  error = Driver::get().begin_call(kind);
}

cudaError_t Driver::begin_call(Call::Kind kind) {
  if (::getpid() != process_) {
    text_ = "[cuda-host] need the process that opened the device; got a fork of it";
    return cudaErrorInitializationError;
  }
  if (kind == Call::gives_back) return cudaSuccess;
  if (calls_until_failure != kNever && calls_until_failure-- == 0) {
    calls_until_failure = kNever;
    return explain("[cuda-host] this call was to fail");
  }
  if (fault.empty()) return cudaSuccess;
  text_ = std::exchange(fault, {});
  return cudaErrorLaunchFailure;
}

cudaError_t Driver::explain(const std::string& text, Call::Kind kind) {
  text_ = text;
  if (kind == Call::gives_back && fault.empty()) fault = text;
  return cudaErrorUnknown;
}

void Driver::need_device(const char* what, const void* at, std::size_t size) const {
  if (memory_.holds(at, size)) return;
  throw DeviceError("[" + std::string(what) + "] need " + counted(size, "byte") +
                    " within one allocation of the device; got another address");
}
void Driver::need_host(const char* what, const void* at) const {
  if (!memory_.has_address(at)) return;
  throw DeviceError("[" + std::string(what) +
                    "] need memory of this process; got an address of the device");
}
void Objects::need_stream(const char* what, cudaStream_t stream) const {
  if (streams.contains(stream)) return;
  throw DeviceError("[" + std::string(what) + "] need a stream that lives; got another");
}
void Objects::need_event(const char* what, cudaEvent_t event) const {
  if (events.contains(event)) return;
  throw DeviceError("[" + std::string(what) + "] need an event that lives; got another");
}
void Driver::need_current(const char* what, int device) const {
  if (device == current_device()) return;
  throw DeviceError("[" + std::string(what) + "] need the current device, " +
                    std::to_string(current_device()) + "; got a stream of device " +
                    std::to_string(device));
}

void* Driver::allocate(std::size_t size) {
  void* const memory = memory_.allocate(size);
  lent_.open(memory, size);
  return memory;
}
void Driver::free(void* memory) {
  run_all();  // CUDA waits here, too
  if (const std::size_t size = memory_.size_at(memory); size > 0) {
    for (const cudaStream_t stream : objects.streams) stream->loans.forget(memory, size);
    lent_.close(memory, size);
  }
  memory_.free(memory);
}

void Driver::queue(cudaStream_t stream, Work work) {
  work.asked = stream->loans.next_call();
  if (work.here != nullptr) work.digest = digest_of(work.here, work.size);
  stream->queue.push_back(std::move(work));
  if (works_at_random && random_() % 4 == 0) {
    run_until(stream, stream->done + random_() % (stream->queue.size() + 1));
  }
}

void Driver::run_until(cudaStream_t stream, std::uint64_t done) {
  if (stream->done >= done) return;
  memory_.open();
  try {
    while (stream->done < done) {
      run_first(stream);
      note_times(stream);
    }
  } catch (const std::exception& wrong) {
    // Work after a fault is discarded.
    if (fault.empty()) fault = wrong.what();
    stream->done += stream->queue.size();
    stream->queue.clear();
  }
  memory_.close();
}

void Driver::run_first(cudaStream_t stream) {
  Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  ++stream->done;
  need_unchanged(work);
  if (!work.writes_here) return work.run(work);
  // Later work may use the same memory, which the stream itself is about to change.
  std::vector<Work*, OwnMemory<Work*>> beside;
  for (Work& later : stream->queue) {
    if (!overlaps(later, work.here, work.size)) continue;
    need_unchanged(later);
    beside.push_back(&later);
  }
  work.run(work);
  for (Work* const later : beside) later->digest = digest_of(later->here, later->size);
}

void Driver::note_times(cudaStream_t stream) {
  for (const cudaEvent_t event : objects.events) {
    const bool is_there = event->stream == stream && event->at == stream->done;
    if (event->is_timed && is_there && event->passed == decltype(event->passed)()) {
      event->passed = std::chrono::steady_clock::now();
    }
  }
}

void Driver::wait_until(cudaStream_t stream, std::uint64_t done) {
  run_until(stream, done);
  if (const std::string text = std::exchange(fault, {}); !text.empty()) throw DeviceError(text);
}

void Driver::run_all() {
  for (const cudaStream_t stream : objects.streams) run_until(stream, stream->queued());
}

bool Driver::is_in_use(const void* at, std::size_t size) const {
  for (const cudaStream_t stream : objects.streams) {
    for (const Work& work : stream->queue) {
      if (overlaps(work, at, size)) return true;
    }
  }
  return false;
}

std::string take_fault() { return std::exchange(Driver::get().fault, {}); }

void fail_call(std::uint64_t calls) { Driver::get().calls_until_failure = calls; }
bool stop_failing() {
  return std::exchange(Driver::get().calls_until_failure, Driver::kNever) == Driver::kNever;
}

void set_device_count(int count) { Driver::get().device_count = count; }
void work_at_random(bool wanted) { Driver::get().works_at_random = wanted; }
void hide_cublas(bool hidden) { Driver::get().cublas_hidden = hidden; }
void let_blocks_meet(bool may) { Driver::get().blocks_meet = may; }

std::uint64_t live_objects() {
  const auto& [streams, events, handles, pinned] = Driver::get().objects;
  return streams.size() + events.size() + handles.size() + pinned.size();
}
std::uint64_t queued_work() {
  std::uint64_t count = 0;
  for (const cudaStream_t stream : Driver::get().objects.streams) count += stream->queue.size();
  return count;
}

}  // namespace dynet_like::detail::cuda::host
