// Runs tapes: computes values when they are asked for, and gradients.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "dynet_like/exec/backward.h"
#include "dynet_like/exec/forward.h"
#include "dynet_like/exec/report.h"

namespace dynet_like {

/// The values and gradients of the tapes of one graph, or of the graphs of a minibatch. Tapes are
/// numbered in the order in which they are added, and must outlive the executor or its `clear`.
class Executor {
 public:
  explicit Executor(const GraphOptions& options) : run_(options), forward_(run_), backward_(run_) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  std::uint32_t add_tape(Tape& tape);

  /// Computes what these values need and no more. `free_unread`: see Forward.
  void forward(std::span<const ValueRef> targets, bool free_unread = false) {
    forward_.compute(targets, free_unread);
  }
  /// A value, computed if need be; where it lies until it is cleared or reverted.
  Tensor value(ValueRef ref);

  /// A pass is begin, run over all roots (or part by part, releasing tapes between), finish.
  void begin_backward() {
    backward_.begin();
    gradient_copies_.clear();
  }
  void run_backward(std::span<const ValueRef> roots, Gradients& gradients, bool full = false) {
    backward_.run(roots, gradients, full);
  }
  void finish_backward(Gradients& gradients) { backward_.finish(gradients); }
  /// The gradient of a value in the last pass, parameters' from `gradients`; zeros if it has none.
  Tensor gradient(ValueRef ref, const Gradients& gradients);

  /// Forgets the values of nodes that belong to one sample; what all share stays.
  void release();
  /// Forgets all values.
  void invalidate();
  /// Whether a parameter has changed since its values were read.
  bool parameters_changed() const;

  /// How much has run, to return to.
  struct Mark {
    std::uint64_t releases = 0;
    std::size_t batches = 0, members = 0;
    Arena::Mark values, lists;
  };
  Mark mark() const;
  /// Forgets the nodes of a tape from `nodes` on, which were recorded after the mark.
  void revert(std::uint32_t tape, std::size_t nodes, const Mark& mark);
  /// Forgets the tapes too. The next run has other random numbers.
  void clear();

  /// Bytes that running a tape will take, with gradients or without.
  std::size_t bytes_needed(std::uint32_t tape, bool with_gradients) const;

  void on_gradient_complete(std::function<void(const ParameterStorage&)> callback) {
    run_.on_gradient_complete = std::move(callback);
  }
  const GraphOptions& options() const { return run_.options; }
  Report report() const { return make_report(run_); }

 private:
  using Copies = std::map<std::pair<std::uint32_t, ValueId>, std::vector<std::byte>>;

  Tensor contiguous(ValueRef ref, const std::byte* node, Copies& copies);
  const std::byte* whole_table(const ParameterStorage& table, const Gradients& gradients);
  void forget_gradients();

  RunState run_;
  Forward forward_;
  Backward backward_;
  std::uint64_t releases_ = 0;  ///< marks from before the last release mean the beginning
  Copies value_copies_, gradient_copies_;
  std::vector<std::byte> table_gradient_;
  std::vector<std::vector<NodeState>> spare_;  ///< memory of tapes that were cleared
};

}  // namespace dynet_like
