// Runs tapes: computes values when they are asked for, and gradients.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "dynet_like/core/thread_pool.h"
#include "dynet_like/exec/backward.h"
#include "dynet_like/exec/batch_picture.h"
#include "dynet_like/exec/forward.h"
#include "dynet_like/exec/report.h"
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

  /// Lets consecutive tapes run beside each other, as many as there are threads, if none of them
  /// has run yet. Results do not depend on it.
  void spread(std::uint32_t begin, std::uint32_t end);

  /// Computes what these values need and no more; those of one tape stand together, in the order of
  /// the tapes. `free_unread`: see Forward. Once a freed value was needed again, none are freed any
  /// more, unless memory is limited.
  /// `read_soon`: values of which sum_values will be asked.
  void forward(std::span<const ValueRef> targets, bool free_unread = false,
               std::span<const ValueRef> read_soon = {});
  /// A value, computed if need be; where it lies until it is cleared or reverted.
  Tensor value(ValueRef ref);
  /// Values that were computed, and that `value` is going to be asked for: they come in one copy
  /// from another device.
  void bring(std::span<const ValueRef> values);
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
  bool has_gradients(std::uint32_t tape) { return lane_of(tape).backward.was_run(); }
  /// The gradient of a value in the last pass, parameters' from `gradients`; zeros if it has none.
  Tensor gradient(ValueRef ref, const Gradients& gradients);

  /// Forgets the values of nodes that belong to one sample, but for copies of some that were
  /// computed; what all share stays.
  void release(std::span<const ValueRef> copied = {});
  /// Forgets all values.
  void invalidate();
  /// Another number whenever values were forgotten.
  std::uint64_t forgets() const { return forgets_; }
  /// Whether a parameter may have changed since its values were read.
  /// `look_at_memory`: also by writes into memory that was handed out.
  bool parameters_may_have_changed(bool look_at_memory) const;
  /// Another number whenever values were forgotten because of that.
  std::uint64_t parameter_changes() const { return parameter_changes_; }
  /// Throws StateError if one has: gradients would mix old values with new weights.
  void check_parameters(const char* user);

  /// How much has run, to return to.
  struct Mark {
    std::uint64_t releases = 0, runs = 0;
    std::uint32_t lane = 0;
    std::size_t batches = 0, members = 0;
    Arena::Mark values, lists;
  };
  Mark mark(std::uint32_t tape) const;
  /// Forgets the nodes of a tape from `nodes` on, which were recorded after the mark.
  void revert(std::uint32_t tape, std::size_t nodes, const Mark& mark);
  /// Taken for values; what they have given back counts, too.
  std::size_t value_bytes() const;
  /// In inference, forgets the values of nodes `first` to `end` - 1 of a tape, for which nobody is
  /// going to ask, and gives back their memory as soon as that of the others in their batches is;
  /// computes them anew if somebody does.
  void forget_values(std::uint32_t tape, std::size_t first, std::size_t end);
  /// Those of all its nodes.
  void end_sample(std::uint32_t tape);
  /// The same, and the tape is going to be recorded anew.
  void forget_tape(std::uint32_t tape);
  /// Forgets the tapes too. Works whatever failed before, and cannot fail itself.
  void clear();
  /// The types have other numbers from now on. Not while there are tapes.
  void forget_types();
  /// From now on random nodes have other numbers.
  void take_step() { common_.take_step(); }
  /// The number of the first sample, for random nodes.
  std::uint32_t first_sample() const { return common_.random.first_sample; }

  /// Of the calling thread; null without GraphOptions::timeline.
  TimelineTrack* track() const;
  /// What is recorded from here on is told of as recorded by others.
  void forget_recording() { recorded_since_.reset(); }
  void detect_anomaly(bool detect) { common_.options.detect_anomaly = detect; }
  const GraphOptions& options() const { return common_.options; }
  Report report() const;
  std::string draw_batches(const BatchPicture& what) const;
  /// Nodes and batches of the last `forward`.
  struct Size {
    std::uint64_t nodes = 0, batches = 0;
  };
  Size last_forward() const { return last_forward_; }
  ThreadPool& threads() { return *pool_; }

 private:
  /// Where a value's gradient lies; null if it has none.
  const std::byte* find_gradient(ValueRef ref, const Gradients& gradients);
  using Copies = std::map<std::pair<std::uint32_t, ValueId>, std::vector<std::byte>>;

  /// Tapes that run beside those of other lanes, on a device of one thread if there are several.
  struct Lane {
    explicit Lane(CommonState& common) : run(common), forward(run), backward(run) {}
    RunState run;
    Forward forward;
    Backward backward;
    std::unique_ptr<Queue> queue;
    KernelClock clock;
  };

  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool> pool, KernelClock& clock) const;
  std::size_t lane_index(std::uint32_t tape) const;
  Lane& lane_of(std::uint32_t tape) { return *lanes_[lane_index(tape)]; }
  bool is_on_cpu() const { return common_.memory == nullptr; }
  void use_lanes(std::size_t count);
  /// work(lane) for all lanes in use, beside each other.
  template <class Work>
  void for_lanes(const Work& work);
  Tensor contiguous(ValueRef ref, const std::byte* node, Copies& copies);
  const std::byte* whole_table(const ParameterStorage& table, const Gradients& gradients);
  void gather(std::span<const ValueRef> values);
  std::byte* read_gathered();
  std::size_t bytes_of(ValueRef ref) const;
  void count_bounds();
  std::size_t count_batches() const;
  void forget_values();
  void keep_shared_batches();
  bool is_good(const Mark& mark, std::size_t lane) const;
  void revert_node(RunState& run, NodeRef ref);
  void drop_empty_batches(RunState& run);
  void forget_all();
  void forget_gradients();
  void note_peak();
  TimelineTrack* use_track();
  void note_recording_begins();
  void note_recording(TimelineTrack* track, TimelineClock::time_point end, std::size_t nodes);
  void note_held();

  CommonState common_;
  std::shared_ptr<ThreadPool> pool_;
  KernelClock clock_;
  std::unique_ptr<Queue> queue_;  ///< with all threads
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t used_lanes_ = 1;  ///< the others only keep their memory
  NeededNodes needed_;
  SharedGradients shared_;
  std::uint64_t releases_ = 0;  ///< marks from before the last release mean the beginning
  std::uint64_t forgets_ = 0, parameter_changes_ = 0;
  bool reads_freed_ = false;  ///< values that were freed have been needed again
  std::size_t peak_ = 0;      ///< see Report::peak_bytes
  Size last_forward_;
  HeldBytes held_{common_.timeline};  ///< by shared values; lanes have their own
  std::optional<TimelineClock::time_point> recorded_since_;  ///< if there is a timeline
  Copies value_copies_, gradient_copies_;
  std::vector<ValueRef> roots_;  ///< of the last pass
  Block table_gradient_;
  /// A copy of a value, and where it lies on the device.
  struct Gathered {
    ValueRef ref;
    std::byte* at;
  };
  Arena results_;
  std::vector<Gathered> gathered_;
  std::unique_ptr<Reading> reading_;           ///< of what was gathered
  std::vector<std::vector<NodeState>> spare_;  ///< memory of tapes that were cleared
};

}  // namespace dynet_like::detail
