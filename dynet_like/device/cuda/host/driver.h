// The state of the stand-ins for CUDA's runtime and cuBLAS: devices, objects, queued work.
//
// Work runs as late as possible: when the host waits for it. So a missing wait is found. A fault is
// an error of the call itself or, if work ran late or nobody reads the result, of the next call.
#pragma once

#include <cuda_runtime.h>
#include <sys/types.h>

#include <chrono>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <string>

#include "dynet_like/device/cuda/host/emulator.h"
#include "dynet_like/device/cuda/host/function.h"
#include "dynet_like/device/cuda/host/lent_memory.h"
#include "dynet_like/device/cuda/host/loans.h"
#include "dynet_like/device/cuda/host/memory.h"

namespace dynet_like::detail::cuda::host {

/// The current device of the calling thread.
int& current_device();
/// The last error of a call of this thread that nobody has asked for.
cudaError_t& last_error();
/// Notes the result of a call as that, if it is an error, and returns it.
inline cudaError_t note(cudaError_t result) {
  if (result != cudaSuccess) last_error() = result;
  return result;
}

/// A piece of work for a stream: run(argument bytes) with the device's memory open.
struct Work {
  using Bytes = std::unique_ptr<std::byte[], void (*)(void*)>;

  void (*run)(Work& work) = nullptr;
  Bytes bytes{nullptr, std::free};  ///< its arguments, copied when it was queued
  // The memory of this process that it reads or writes; its contents must not change meanwhile.
  const void* here = nullptr;
  std::size_t size = 0;
  std::uint64_t digest = 0;
  bool writes_here = false;
  Loans::Period asked;

  template <class T>
  T& as() {
    return *reinterpret_cast<T*>(bytes.get());
  }
};

template <class T>
Work make_work(void (*run)(Work&), const T& needed) {
  Work work;
  work.run = run;
  work.bytes.reset(static_cast<std::byte*>(std::malloc(sizeof(T))));
  if (work.bytes == nullptr) throw std::bad_alloc();
  ::new (static_cast<void*>(work.bytes.get())) T(needed);
  return work;
}

using WorkQueue = std::list<Work, OwnMemory<Work>>;

}  // namespace dynet_like::detail::cuda::host

struct CUstream_st {
  int device = 0;
  dynet_like::detail::cuda::host::WorkQueue queue;
  std::uint64_t done = 0;  ///< pieces of work since the stream was made
  dynet_like::detail::cuda::Loans loans;
  std::uint64_t queued() const { return done + queue.size(); }
};
struct CUevent_st {
  int device = 0;
  CUstream_st* stream = nullptr;  ///< the stream where it was recorded last
  std::uint64_t at = 0;           ///< it has passed when the stream has done so many pieces
  bool is_timed = false;
  std::chrono::steady_clock::time_point passed;  ///< when it passed, if it is timed; {}: not yet
};

namespace dynet_like::detail::cuda::host {

/// Objects that calls made and have not given back.
struct Objects {
  template <class T>
  using Set = std::set<T, std::less<>, OwnMemory<T>>;
  Set<cudaStream_t> streams;
  Set<cudaEvent_t> events;
  Set<void*> handles;  ///< of cuBLAS
  std::map<void*, std::size_t, std::less<>, OwnMemory<std::pair<void* const, std::size_t>>> pinned;

  void need_stream(const char* what, cudaStream_t stream) const;
  void need_event(const char* what, cudaEvent_t event) const;
};

class Driver {
 public:
  /// Lives for ever: other objects may call it while the process ends.
  static Driver& get();

  /// Around every call. `error` is its result.
  class Call {
   public:
    enum Kind { ordinary, gives_back };
    /// A call of kind gives_back does its work even after an earlier error.
    explicit Call(Kind kind = ordinary);
    cudaError_t error = cudaSuccess;

   private:
    std::lock_guard<std::recursive_mutex> lock_;
  };
  template <class Action>
  cudaError_t call(const Action& action, Call::Kind kind = Call::ordinary) {
    const Call call(kind);
    if (call.error != cudaSuccess) return note(call.error);
    try {
      action();
    } catch (const std::exception& wrong) {
      return note(explain(wrong.what(), kind));
    }
    return cudaSuccess;
  }

  /// Returns the error with this text; an error that nobody can see is kept for the next call.
  cudaError_t explain(const std::string& text, Call::Kind kind = Call::ordinary);
  const char* text() const { return text_.c_str(); }

  void need_device(const char* what, const void* at, std::size_t size) const;
  void need_host(const char* what, const void* at) const;
  /// Checks that the calling thread's current device is `device`.
  void need_current(const char* what, int device) const;

  void queue(cudaStream_t stream, Work work);
  /// Runs the queued work of a stream until so many pieces are done.
  void run_until(cudaStream_t stream, std::uint64_t done);
  /// The same, and throws the fault if there is one.
  void wait_until(cudaStream_t stream, std::uint64_t done);
  void run_all();
  /// Notes the time of timed events that the stream has just reached.
  void note_times(cudaStream_t stream);
  /// Whether queued work still needs these bytes of this process.
  bool is_in_use(const void* at, std::size_t size) const;

  /// Throws DeviceError if there is not enough memory.
  void* allocate(std::size_t size);
  /// Waits for all queued work.
  void free(void* memory);

  const Memory& memory() const { return memory_; }
  LentMemory& lent() { return lent_; }
  Emulator& emulator() { return emulator_; }

  Objects objects;
  int device_count = 1;
  bool cublas_hidden = false;
  bool blocks_meet = true, works_at_random = false;
  std::string fault;  ///< reported by the next call

  // For tests that make a call fail.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::uint64_t calls_until_failure = kNever;

 private:
  friend class Call;
  Driver();

  cudaError_t begin_call(Call::Kind kind);
  void run_first(cudaStream_t stream);

  std::recursive_mutex mutex_;
  Memory memory_;
  LentMemory lent_{memory_.begin(), memory_.size()};
  Races races_{memory_.begin(), memory_.size(), lent_};
  Emulator emulator_{races_};
  std::mt19937_64 random_{1};
  std::string text_;
  ::pid_t process_;
};

}  // namespace dynet_like::detail::cuda::host
