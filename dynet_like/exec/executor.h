// Runs tapes: computes values when they are asked for, and gradients.
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
/// numbered in the order in which they are added, and must outlive the executor or its `clear`.
class Executor {
 public:
  explicit Executor(const GraphOptions& options);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  std::uint32_t add_tape(Tape& tape);
  /// Forgets the tapes. Works whatever failed before, and cannot fail itself.
  void clear();
  /// The types have other numbers from now on. Not while there are tapes.
  void forget_types();

  /// Computes what these values need and no more; those of one tape stand together, in the order of
  /// the tapes. `free_unread`: see Forward. Once a freed value was needed again, none are freed any
  /// more, unless memory is limited.
  /// `read_soon`: values of which sum_values will be asked.
  void forward(std::span<const ValueRef> targets, bool free_unread = false,
               std::span<const ValueRef> read_soon = {});
  /// A value, computed if need be; where it lies until it is cleared or reverted.
  Tensor value(ValueRef ref);
  /// The sum of the elements of each of these values. What `forward` was told of comes in one copy
  /// from another device, if nothing was forgotten since.
  void sum_values(std::span<const ValueRef> values, std::span<double> sums);

  /// A pass is begin, run over all roots (or part by part, releasing tapes between), finish.
  void begin_backward();
  void run_backward(std::span<const ValueRef> roots, Gradients& gradients, bool full = false);
  /// A whole pass that sums what parameters get by parts: that of the tapes below ends[i], and of
  /// no part before, is added to gradients[i]. The last one ends with the last tape. `complete` is
  /// told of parameters that only samples read, one by one.
  void run_backward_by_parts(std::span<const ValueRef> roots, std::span<const std::uint32_t> ends,
                             std::span<Gradients> gradients, const OnComplete& complete);
  void finish_backward(Gradients& gradients);
  /// Whether there was a pass over the tape since its values were computed.
  bool has_gradients(std::uint32_t tape) const { return lanes_.of(tape).backward.was_run(); }
  /// The gradient of a value in the last pass, parameters' from `gradients`; zeros if it has none.
  Tensor gradient(ValueRef ref, const Gradients& gradients);

  /// Forgets the values of nodes that belong to one sample, but for copies of some that are
  /// computed for that; what all share stays.
  void release(std::span<const ValueRef> copied = {});
  /// Forgets all values.
  void invalidate();
  /// Another number whenever values were forgotten because a parameter had changed.
  std::uint64_t parameter_changes() const { return parameter_changes_; }

  Lanes& lanes() { return lanes_; }
  Results& results() { return results_; }
  Liveness& liveness() { return liveness_; }
  RunTimeline& timeline() { return timeline_; }
  CommonState& common() { return common_; }
  const CommonState& common() const { return common_; }
  const GraphOptions& options() const { return common_.options; }

  /// Nodes and batches of the last `forward`.
  struct Size {
    std::uint64_t nodes = 0, batches = 0;
  };
  Size last_forward() const { return last_forward_; }
  /// What a report tells of the whole.
  struct Totals {
    std::vector<const RunState*> runs;  ///< of all lanes, those that are not in use any more, too
    double longest_seconds = 0;         ///< in kernels: of threads beside each other, the longest
    double all_seconds = 0;             ///< of all threads
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
  bool reads_freed_ = false;  ///< values that were freed have been needed again
  std::size_t peak_ = 0;
  Size last_forward_;
  MetNumbers released_types_;                  ///< see count_released_bounds
  std::vector<ValueRef> roots_;                ///< of the last pass
  std::vector<std::vector<NodeState>> spare_;  ///< memory of tapes that were cleared
};

}  // namespace dynet_like::detail
