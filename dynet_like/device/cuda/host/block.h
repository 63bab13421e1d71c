// A block of threads that wait for each other. Each thread is a fiber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "dynet_like/core/fiber.h"
#include "dynet_like/device/cuda/host/races.h"
#include "dynet_like/device/cuda/host/words.h"

namespace dynet_like::detail::cuda::host {

/// A kernel with its arguments; `run` runs it as the one thread given by `position`.
struct Kernel {
  void (*run)(const void*);
  const void* kernel;
  const void* code = nullptr;  ///< identifies the kernel's code
  const char* name = "";
};

/// Arrays that the threads of a block share, by name. Fresh memory is filled with NaNs.
class SharedMemory {
 public:
  void* array(Place place, const void* id, std::size_t size);
  /// Called when the next block begins.
  void reset();

 private:
  struct Array {
    const void* id;
    std::size_t size;
    bool used;
    std::unique_ptr<std::byte[]> memory;
    std::unique_ptr<Visits[]> visits;
  };
  std::vector<Array> arrays_;
  std::size_t used_ = 0;
};

/// Runs blocks one after the other; keeps fibers and memory for the next one.
class CooperatingBlock {
 public:
  /// Runs the block at `position`. Throws the exception of a thread, or DeviceError if threads wait
  /// for something that cannot happen.
  void run(unsigned threads, const Kernel& kernel);

  // Called by the running thread.
  void barrier(Place place);
  /// `orders_memory`: what the lanes did before comes before what they do afterwards.
  std::uint64_t exchange(Place place, unsigned mask, std::uint64_t bits, unsigned from,
                         bool orders_memory);
  void* shared_memory(Place place, const void* id, std::size_t size) {
    return shared_.array(place, id, size);
  }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;
  enum class State : std::uint8_t { ready, at_barrier, in_warp, returned };
  struct Thread {
    Thread(unsigned number, CooperatingBlock& block) : fiber(kStackBytes, number), block(block) {}

    Fiber fiber;
    CooperatingBlock& block;
    Index index;
    State state = State::returned;
    Place place{};
    // The data of a warp operation.
    unsigned from = 0;
    bool orders_memory = false;
    std::uint64_t bits = 0;
  };
  struct Abandoned {};

  static void run_thread(void* thread);
  void wait(State state, Place place);
  void run_ready();
  bool release_warps();
  const Thread* find_absent(unsigned warp) const;
  void exchange_bits(unsigned warp);
  bool release_barrier();
  void abandon() noexcept;
  [[noreturn]] void throw_stuck() const;

  std::vector<std::unique_ptr<Thread>> threads_;  ///< as many as the largest block so far had
  unsigned count_ = 0;
  std::uint16_t warp_barriers_[32] = {};  ///< by warp, since the start of the program
  Thread* running_ = nullptr;
  Kernel kernel_{};
  bool abandoned_ = false;
  std::exception_ptr error_;
  SharedMemory shared_;
};

}  // namespace dynet_like::detail::cuda::host
