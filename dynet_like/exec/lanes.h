// Lanes: consecutive tapes that run in parallel to others, with their own plan, batches and memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/core/thread_pool.h"
#include "dynet_like/exec/backward.h"
#include "dynet_like/exec/forward.h"

namespace dynet_like::detail {

/// Some tapes, which run in parallel to those of other lanes. With several lanes, each queue has
/// one thread.
struct Lane {
  explicit Lane(CommonState& common) : run(common), forward(run), backward(run) {}

  RunState run;
  Forward forward;
  Backward backward;
  std::unique_ptr<Queue> queue;
  KernelClock clock;
};

/// Samples only depend on shared values, so lanes need no barrier until the gradients of parameters
/// are summed: lane by lane, in the order of samples, as a single lane would. Shared nodes run in
/// the first lane.
class Lanes {
 public:
  using All = std::span<const std::unique_ptr<Lane>>;

  explicit Lanes(CommonState& common);

  /// One lane, to which all tapes are added.
  void start_anew();
  /// Notes that a tape was added.
  void add_tape();
  /// Divides the tapes from `begin` to `end` - 1 among as many lanes as there are threads, if none
  /// of them has run yet. Results do not depend on it.
  void spread(std::uint32_t begin, std::uint32_t end);
  /// Makes a lane for each part, if no tape has run yet: part i has the tapes below ends[i] that
  /// are in no earlier part, and the last part all that are left.
  void split(std::span<const std::uint32_t> ends);
  /// Whether the lanes are these parts.
  bool are_split(std::span<const std::uint32_t> ends) const;

  Lane& first() const { return *lanes_[0]; }
  Lane& of(std::uint32_t tape) const { return *lanes_[index_of(tape)]; }
  std::size_t index_of(std::uint32_t tape) const;
  All in_use() const { return All(lanes_).first(used_); }
  /// Includes lanes that only keep counts and memory.
  All all() const { return lanes_; }
  /// Calls work(lane) for all lanes in use, in parallel.
  template <class Work>
  void for_each(const Work& work) const {
    if (used_ == 1) return work(first());
    const auto threads = static_cast<unsigned>(std::min<std::size_t>(used_, pool_->size()));
    pool_->run(threads, [&](unsigned thread) {
      for (std::size_t l = thread; l < used_; l += threads) {
        Lane& lane = *lanes_[l];
        lane.clock.track = common_.track();
        TimelineScope scope(lane.clock.track, TimelineSpan::lane);
        scope.count(l);
        work(lane);
        if (scope.is_empty()) scope.leave_out();
      }
    });
  }

  /// The queue that uses all threads, and its clock.
  Queue& queue() const { return *queue_; }
  const KernelClock& clock() const { return clock_; }
  KernelClock& clock() { return clock_; }
  ThreadPool& threads() const { return *pool_; }
  /// How many have run.
  std::uint64_t batches() const;
  /// The bytes taken for values, including those given back.
  std::size_t value_bytes() const;

 private:
  void use(std::size_t count);
  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool> pool, KernelClock& clock) const;
  bool has_run() const;

  CommonState& common_;
  std::shared_ptr<ThreadPool> pool_;
  KernelClock clock_;
  std::unique_ptr<Queue> queue_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t used_ = 0;
};

}  // namespace dynet_like::detail
