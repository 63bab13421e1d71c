// The state behind the stand-ins for CUDA's runtime and cuBLAS: devices, objects, queued work.
//
// Work runs as late as possible: when somebody waits for it. (At once in descending order, and some
// of it at any time in random order.) So a missing wait shows. Whatever is wrong is an error of the
// call itself or, where work ran late or nobody looks at the result, of the next call.
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

/// Something that a stream is to do: run(argument bytes) with the device's memory open.
struct Work {
  using Bytes = std::unique_ptr<std::byte[], void (*)(void*)>;

  void (*run)(Work& work) = nullptr;
  Bytes bytes{nullptr, std::free};  ///< what it needs, copied when it was queued
  // What it reads or writes of this process, and what is there: it must not change meanwhile.
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
  std::uint64_t done = 0;  ///< pieces of work since it was made
  dynet_like::detail::cuda::Loans loans;
  std::uint64_t queued() const { return done + queue.size(); }
};
struct CUevent_st {
  int device = 0;
  CUstream_st* stream = nullptr;  ///< where it was recorded last
  std::uint64_t at = 0;           ///< it is passed when so much was done
  bool is_timed = false;
  std::chrono::steady_clock::time_point passed;  ///< when, if it is timed; {}: not yet
};

namespace dynet_like::detail::cuda::host {

/// What calls made and have not given back.
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
  /// Lives for ever: others may call it while the process ends.
  static Driver& get();

  /// Around every call. `error` is what it ends with unless it is success.
  class Call {
   public:
    enum Kind { ordinary, gives_back };
    /// What gives back objects does so whatever was wrong before.
    explicit Call(Kind kind = ordinary);
    cudaError_t error = cudaSuccess;

   private:
    std::lock_guard<std::recursive_mutex> lock_;
  };
  template <class Action>
  cudaError_t call(const Action& action, Call::Kind kind = Call::ordinary) {
    const Call call(kind);
    if (call.error != cudaSuccess) return call.error;
    try {
      action();
    } catch (const std::exception& wrong) {
      return explain(wrong.what(), kind);
    }
    return cudaSuccess;
  }

  /// The error whose text says that; what nobody may see is kept for the next call.
  cudaError_t explain(const std::string& text, Call::Kind kind = Call::ordinary);
  const char* text() const { return text_.c_str(); }

  void need_device(const char* what, const void* at, std::size_t size) const;
  void need_host(const char* what, const void* at) const;
  /// Also that the calling thread's device is the stream's.
  void need_current(const char* what, int device) const;

  void queue(cudaStream_t stream, Work work);
  /// Runs what a stream has queued until so much was done.
  void run_until(cudaStream_t stream, std::uint64_t done);
  /// The same, and throws what went wrong.
  void wait_until(cudaStream_t stream, std::uint64_t done);
  void run_all();
  /// Of timed events that the stream has just come to.
  void note_times(cudaStream_t stream);
  /// Whether queued work still needs these bytes of this process.
  bool is_in_use(const void* at, std::size_t size) const;

  /// Throws DeviceError if there is no room.
  void* allocate(std::size_t size);
  /// Waits for all that is queued.
  void free(void* memory);

  const Memory& memory() const { return memory_; }
  LentMemory& lent() { return lent_; }
  Emulator& emulator() { return emulator_; }

  Objects objects;
  int device_count = 1;
  bool cublas_hidden = false;
  std::string fault;  ///< for the next call

  // Of calls that are to fail.
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

/// Of the calling thread.
int& current_device();

}  // namespace dynet_like::detail::cuda::host
