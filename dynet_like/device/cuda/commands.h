// The calls of a device that have not begun: lists, kernels and their arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/cuda/busy_time.h"
#include "dynet_like/device/cuda/launch.h"
#include "dynet_like/device/cuda/runtime.h"
#include "dynet_like/device/cuda/staging.h"
#include "dynet_like/device/cuda/waiting_sums.h"
#include "dynet_like/device/device.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::detail::cuda {

/// Calls to be made later, stored one behind the other in memory.
class CallList {
 public:
  template <class Call>
  void append(const Call& call) {
    static_assert(std::is_trivially_copyable_v<Call> && alignof(Call) <= kUnit);
    const std::size_t units = (sizeof(Call) + kUnit - 1) / kUnit, at = memory_.size();
    memory_.resize(at + units);  // if there is no memory, the call is not added
    ::new (static_cast<void*>(&memory_[at])) Call(call);
    calls_.push_back(
        {[](Runtime& runtime, const void* at) { (*static_cast<const Call*>(at))(runtime); }, at});
  }
  std::size_t size() const { return calls_.size(); }
  /// Keeps only the first `size` calls.
  void shrink(std::size_t size) {
    if (size < calls_.size()) calls_.resize(size);
  }
  bool empty() const { return calls_.empty(); }
  void run(Runtime& runtime) const {
    for (const Entry& entry : calls_) entry.run(runtime, &memory_[entry.at]);
  }
  void clear() {
    calls_.clear();
    memory_.clear();
  }

 private:
  static constexpr std::size_t kUnit = 16;
  struct alignas(kUnit) Unit {
    std::byte bytes[kUnit];
  };
  struct Entry {
    void (*run)(Runtime&, const void*);
    std::size_t at;
  };
  std::vector<Entry> calls_;
  std::vector<Unit> memory_;
};

class Commands;

/// Steps of one kind that wait for others: they can share a launch (see steps.h).
struct WaitingSteps {
  /// How to launch steps of a kind, and how many of their blocks can wait for each other.
  struct Kind {
    void (*launch)(Commands& commands, const WaitingSteps& steps);
    unsigned (*most_blocks)(Runtime& runtime);
  };
  const Kind* kind = nullptr;
  Shape shape;  ///< has room for each of them
  unsigned count = 0;
  bool cooperate = false;        ///< threads of a block
  std::vector<std::byte> bytes;  ///< a Step each
};

/// The commands of a device, in order. Launchers get this as their workspace: its memory is scratch
/// memory of the device, valid for the kernels that one call launches.
///
/// Nothing begins before `submit`: the lists travel in one copy, then the kernels are launched.
class Commands : public Workspace {
 public:
  Commands(Runtime& runtime, std::shared_ptr<MemorySource> memory);

  /// Adds a kernel whose threads are independent of each other, or (the second function) cooperate.
  template <class... Parameters, class... Arguments>
  void launch(const Shape& shape, void (*kernel)(Parameters...), const Arguments&... arguments) {
    append_launch(shape, Threads::independent, kernel, static_cast<Parameters>(arguments)...);
  }
  template <class... Parameters, class... Arguments>
  void launch_cooperating(const Shape& shape, void (*kernel)(Parameters...),
                          const Arguments&... arguments) {
    append_launch(shape, Threads::cooperating, kernel, static_cast<Parameters>(arguments)...);
  }
  void multiply(const LibraryProduct& product);
  /// Counts a product whose threads have chains of so many terms. It does not launch anything.
  void count_terms(std::size_t terms) { product_terms_ += terms; }
  std::uint64_t product_terms() const { return product_terms_; }
  LargeProducts large_products() const { return large_products_; }
  void set_large_products(LargeProducts how) { large_products_ = how; }
  void copy(void* to, const void* from, std::size_t size);
  void zero(void* to, std::size_t size);
  /// Copies to pinned memory of this process, and puts the mark behind the copy.
  void read(void* to, const void* from, std::size_t size, Mark arrived);

  /// The address that a list will have on the device when the kernels of this submission run.
  template <class T>
  T* stage(const T* list, std::size_t count) {
    return static_cast<T*>(stagings_.current().add(list, count * sizeof(T)));
  }
  void* bytes(std::size_t size) override { return scratch_.allocate(size); }
  /// The next call may reuse the scratch memory.
  void reset_scratch() { scratch_.reset(); }

  /// Adds a sum that may run together with those before and after it.
  void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends, SumStart start);
  /// Adds a copy of memory of this process, which may change after the call, in the same way.
  void write(void* to, const void* from, std::size_t size);
  /// Launches the sums and copies so far, so that later calls see their results.
  void finish_sums() {
    if (steps_.count == 0) finish();
  }
  /// Launches all that waits for calls that might run together with it.
  void finish();
  /// Adds a kernel that may share a launch with those of its kind before and after it. Each sees
  /// what all before it did. add_step of steps.h makes the arguments.
  void add_step(const WaitingSteps::Kind& kind, const Shape& shape, bool cooperates,
                std::span<const std::byte> step);
  /// How often blocks of launches wait for each other.
  std::uint64_t meetings() const { return meetings_; }

  void submit();
  /// Starts or stops measuring; the time since the start.
  void measure_busy_time(bool wanted) {
    busy_time_.reset();
    if (wanted) busy_time_.emplace(runtime_);
  }
  double busy_seconds() { return busy_time_ ? busy_time_->seconds() : 0; }
  /// Submits the first 12 calls, then 24, then 48 at a time, so that the device begins while
  /// further calls are still being added.
  void end_call() {
    reset_scratch();
    if (++calls_asked_ < calls_wanted_ || !sums_.is_empty()) return;
    const unsigned next = std::min(2 * calls_wanted_, kMostCalls);
    submit();
    calls_wanted_ = next;
  }

  /// Adds all calls that `calls` adds, or none if it throws before anything was submitted.
  template <class Calls>
  void together(const Calls& calls) {
    finish();
    const std::size_t before = calls_.size();
    try {
      calls();
      finish();
    } catch (...) {
      sums_.clear();
      steps_.count = 0;
      calls_.shrink(before);
      throw;
    }
  }

 private:
  template <class... Parameters>
  void append_launch(const Shape& shape, Threads threads, void (*kernel)(Parameters...),
                     Parameters... arguments) {
    append([=](Runtime& runtime) {
      cuda::launch<Parameters...>(runtime, shape, threads, kernel, arguments...);
    });
  }
  template <class Call>
  void append(const Call& call) {
    finish();
    calls_.append(call);
  }
  void launch_steps();
  void launch_waiting_sums();

  static constexpr unsigned kFirstCalls = 12, kMostCalls = 48;

  Runtime& runtime_;
  CallList calls_;
  unsigned calls_asked_ = 0;  ///< since the last submission
  unsigned calls_wanted_ = kFirstCalls;
  StagingPool stagings_;
  Arena scratch_;
  LargeProducts large_products_ = LargeProducts::exact;
  std::uint64_t product_terms_ = 0, meetings_ = 0;
  std::optional<BusyTime> busy_time_;  ///< if busy time is measured

  // Steps or sums that have not been launched: never both.
  WaitingSteps steps_;
  WaitingSums sums_;
};

/// Launches sums that do not depend on each other.
void launch_sums(Commands& commands, DType dtype, std::span<const SumSegment> segments,
                 std::span<const void* const> addends);
/// A sum of outer products is large from so many multiply-adds on. Copying both sides to where a
/// library can read them then takes a small part of the time.
constexpr std::size_t kLargeOuterProducts = std::size_t{1} << 24;
/// sum += dy x', or sum = dy x' if it is fresh. The lists of addends are in memory of this process.
void launch_outer_products(Commands& commands, DType dtype, const OuterProducts& call);

inline Commands& commands_of(const ForwardCall& call) {
  return static_cast<Commands&>(*call.workspace);
}
inline Commands& commands_of(const BackwardCall& call) {
  return static_cast<Commands&>(*call.workspace);
}

}  // namespace dynet_like::detail::cuda
