// Gradients of parameters and of what follows from parameters alone: deferred, in recording order.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dynet_like/exec/run_state.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like {

/// An edge to a shared value that wants a gradient.
struct SharedEdge {
  NodeRef consumer;
  std::uint32_t input = 0;
  const std::byte* slots = nullptr;  ///< one contribution per item, if the kernel writes them
};

/// Collects what the nodes of all tapes contribute to shared values, and adds it up: one chain per
/// element, in the order of samples, nodes, inputs and items, continued from call to call.
class SharedGradients {
 public:
  explicit SharedGradients(RunState& run) : run_(run) {}

  /// Forgets the last pass.
  void begin();
  /// The whole value, times ones: a root of the pass.
  void seed(NodeRef ref, const Value& value);
  /// What the consumer's output gradient contributes through this edge.
  void contribute(const SharedEdge& edge, const std::byte* dy);
  /// Adds up what was contributed.
  void flush(Gradients& gradients);
  /// Goes on through nodes of parameters alone.
  void finish(Gradients& gradients);

 private:
  struct Contribution {
    SharedGradient kind;
    std::uint32_t row;  ///< of a table
    std::uint32_t offset, rows, columns;
    const std::byte *dy, *x;

    bool joins(const Contribution& other) const {
      return kind == other.kind && kind != SharedGradient::rows && offset == other.offset &&
             rows == other.rows && columns == other.columns;
    }
  };
  struct Target {
    NodeRef node;
    std::vector<Contribution> contributions;
  };

  Target& target_of(NodeRef producer);
  void flush(Target& target, Gradients& gradients);
  void add(DType dtype, std::byte* sum, std::span<const Contribution> run);
  std::byte* derived_gradient(NodeRef ref);
  void run_backward(const SharedValue& shared, Gradients& gradients);

  RunState& run_;
  std::vector<Target> targets_;  ///< those from `used_` on only keep their memory
  std::size_t used_ = 0;
  std::vector<std::uint32_t> target_of_identity_;
  std::vector<ParameterStorage*> touched_;
  std::vector<const void*> dy_, x_;
};

}  // namespace dynet_like
