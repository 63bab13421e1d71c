// Runs tapes: computes values when they are requested, and gradients.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/lanes.h"
#include "dynet_like/exec/liveness.h"
#include "dynet_like/exec/results.h"
#include "dynet_like/exec/run_timeline.h"
#include "dynet_like/exec/shared_gradients.h"

namespace dynet_like::detail {

/// The values and gradients of the tapes of one graph, or of the graphs of a minibatch. Tapes are
/// numbered in the order of their addition, and must live until the executor ends or is cleared.
class Executor {
 public:
  explicit Executor(const GraphOptions& options);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  std::uint32_t add_tape(Tape& tape);
  /// Removes the tapes. Works after any failure, and cannot fail.
  void clear();
  /// The types have new numbers from now on. There must be no tapes.
  void forget_types();

  /// Computes the nodes that these values need and no others. Targets of one tape must be adjacent,
  /// in the order of tapes. `free_unread`: see Forward. Once a freed value was needed again, no
  /// more are freed, unless memory is limited. `read_soon`: values for which sum_values will be
  /// called.
  void forward(std::span<const ValueRef> targets, bool free_unread = false,
               std::span<const ValueRef> read_soon = {});
  /// A value, computed if necessary. The tensor is valid until the value is cleared or reverted.
  Tensor value(ValueRef ref);
  /// The sums of the elements of each of these values. Values that `forward` was told of come from
  /// a device in one copy, unless values were forgotten since.
  void sum_values(std::span<const ValueRef> values, std::span<double> sums);

  /// A pass is: begin, run over all roots (or part by part, releasing tapes in between), finish.
  void begin_backward();
  void run_backward(std::span<const ValueRef> roots, Gradients& gradients, bool full = false);
  /// A whole pass that sums the gradients of parameters by shards: a shard's tapes are those below
  /// ends[i] and in no earlier shard, and its sums are added to gradients[i]. The last shard ends
  /// with the last tape. `complete` is called for each parameter that only samples read, as soon as
  /// its gradients are complete.
  void run_backward_by_shards(std::span<const ValueRef> roots, std::span<const std::uint32_t> ends,
                              std::span<Gradients> gradients, const OnComplete& complete);
  void finish_backward(Gradients& gradients);
  /// Whether a pass has covered the tape since its values were computed.
  bool has_gradients(std::uint32_t tape) const { return lanes_.of(tape).backward.was_run(); }
  /// The gradient of a value in the last pass, or zeros; that of a parameter is in `gradients`.
  Tensor gradient(ValueRef ref, const Gradients& gradients);

  /// Forgets the values of nodes that belong to one sample; shared values stay. Values in `copied`
  /// are computed first, and copies of them are kept.
  void release(std::span<const ValueRef> copied = {});
  /// Forgets all values.
  void invalidate();
  /// Changes whenever values were forgotten because a parameter had changed.
  std::uint64_t parameter_changes() const { return parameter_changes_; }

  Lanes& lanes() { return lanes_; }
  Results& results() { return results_; }
  Liveness& liveness() { return liveness_; }
  RunTimeline& timeline() { return timeline_; }
  CommonState& common() { return common_; }
  const CommonState& common() const { return common_; }
  const GraphOptions& options() const { return common_.options; }

  /// The nodes and batches of the last `forward`.
  struct Size {
    std::uint64_t nodes = 0, batches = 0;
  };
  Size last_forward() const { return last_forward_; }
  /// Totals for a report.
  struct Totals {
    std::vector<const RunState*> runs;  ///< of all lanes, including those no longer in use
    double longest_seconds = 0;         ///< in kernels: the longest time of any thread
    double all_seconds = 0;             ///< in kernels: the sum over all threads
    std::size_t gradient_bytes = 0;
    std::size_t peak_bytes = 0;  ///< see Report::peak_bytes
  };
  Totals totals() const;

 private:
  void count_bounds();
  void note_peak();

  CommonState common_;
  Lanes lanes_;
  NeededNodes needed_;
  SharedGradients shared_;
  Results results_;
  Liveness liveness_;
  RunTimeline timeline_;
  std::uint64_t parameter_changes_ = 0;
  bool reads_freed_ = false;  ///< freed values have been needed again
  std::size_t peak_ = 0;
  Size last_forward_;
  MetNumbers released_types_;                  ///< see count_released_bounds
  std::vector<ValueRef> roots_;                ///< of the last pass
  std::vector<std::vector<NodeState>> spare_;  ///< memory of removed tapes
};

}  // namespace dynet_like::detail
