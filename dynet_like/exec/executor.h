// Runs tapes: computes values when they are asked for, and gradients.
#pragma once

#include <functional>
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
  Executor(const GraphOptions& options, RandomKey random)
      : run_(options, random), forward_(run_), backward_(run_) {}
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
  void begin_backward() { backward_.begin(); }
  void run_backward(std::span<const ValueRef> roots, Gradients& gradients, bool full = false) {
    backward_.run(roots, gradients, full);
  }
  void finish_backward(Gradients& gradients) { backward_.finish(gradients); }
  /// The gradient of a value in the last pass; zeros if it has none.
  Tensor gradient(ValueRef ref, const Gradients& gradients);

  /// Forgets the values of nodes that belong to one sample; what all share stays.
  void release();
  /// Forgets all values.
  void invalidate();
  /// Forgets the nodes of a tape from `nodes` on.
  void revert(std::uint32_t tape, std::size_t nodes);
  /// Forgets the tapes too. The next run has other random numbers.
  void clear(RandomKey random);

  /// Bytes that running a tape will take, with gradients or without.
  std::size_t bytes_needed(std::uint32_t tape, bool with_gradients) const;

  void on_gradient_complete(std::function<void(const ParameterStorage&)> callback) {
    run_.on_gradient_complete = std::move(callback);
  }
  const GraphOptions& options() const { return run_.options; }
  Report report() const { return make_report(run_); }

 private:
  void replace(SharedValue& shared);
  Tensor at(ValueRef ref, const std::byte* node, Arena& arena) const;

  RunState run_;
  Forward forward_;
  Backward backward_;
  std::vector<std::vector<NodeState>> spare_;  ///< memory of tapes that were cleared
};

}  // namespace dynet_like
