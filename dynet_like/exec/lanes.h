// Lanes: consecutive tapes run beside each other, each with a plan, batches and memory of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/core/thread_pool.h"
#include "dynet_like/exec/backward.h"
#include "dynet_like/exec/forward.h"

namespace dynet_like::detail {

/// Tapes that run beside those of other lanes, on a queue of one thread if there are several.
struct Lane {
  explicit Lane(CommonState& common) : run(common), forward(run), backward(run) {}

  RunState run;
  Forward forward;
  Backward backward;
  std::unique_ptr<Queue> queue;
  KernelClock clock;
};

/// Samples are independent but for what all share, so lanes need no barrier until gradients of
/// parameters are added up: lane by lane, in the order of the samples, as one lane would. Shared
/// nodes run in the first one.
class Lanes {
 public:
  using All = std::span<const std::unique_ptr<Lane>>;

  explicit Lanes(CommonState& common);

  /// One lane, which has all tapes that are added.
  void start_anew();
  /// There is one tape more.
  void add_tape();
  /// Lets consecutive tapes from `begin` to `end` - 1 run in lanes, as many as there are threads,
  /// if none of them has run yet. Results do not depend on it.
  void spread(std::uint32_t begin, std::uint32_t end);

  Lane& first() const { return *lanes_[0]; }
  Lane& of(std::uint32_t tape) const { return *lanes_[index_of(tape)]; }
  std::size_t index_of(std::uint32_t tape) const;
  All in_use() const { return All(lanes_).first(used_); }
  /// With those that only keep what they have counted, and their memory.
  All all() const { return lanes_; }
  /// work(lane) for all lanes in use, beside each other.
  template <class Work>
  void for_each(const Work& work) const {
    if (used_ == 1) return work(first());
    pool_->run(static_cast<unsigned>(used_), [&](unsigned l) {
      Lane& lane = *lanes_[l];
      lane.clock.track = common_.track();
      TimelineScope scope(lane.clock.track, TimelineSpan::lane);
      scope.count(l);
      work(lane);
      if (scope.is_empty()) scope.leave_out();
    });
  }

  /// With all threads, and its clock.
  Queue& queue() const { return *queue_; }
  const KernelClock& clock() const { return clock_; }
  KernelClock& clock() { return clock_; }
  ThreadPool& threads() const { return *pool_; }
  std::size_t batches() const;
  /// Taken for values; what they have given back counts, too.
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
