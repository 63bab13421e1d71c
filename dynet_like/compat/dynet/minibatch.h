// Minibatch: not in DyNet; for programs whose samples ask for values while they record.
#pragma once

#include "dynet/dynet.h"
#include "dynet_like/graph/for_each_sample.h"

namespace dynet {

/// The library's minibatch of graphs, with DyNet's names: `for_each_sample(batch, n, f)` runs
/// `f(cg, i)` with a DyNet ComputationGraph for every sample, and computes the values that they
/// wait for together. Keep it and `clear` it, instead of making one for every minibatch.
class Minibatch : public dynet_like::Minibatch {
 public:
  /// Policy, device, random numbers and timing are those of all graphs of the process.
  explicit Minibatch(const dynet_like::GraphOptions& options = {});
  ~Minibatch() override;

  ComputationGraph& new_graph();
  ComputationGraph& graph(std::size_t sample);

  /// Adds to the gradients of the parameters, as ComputationGraph::backward does. Throws as the
  /// library's minibatch does.
  void backward();
  void clear();

 private:
  void add_to_profile() const;

  bool is_profiled_;
};

}  // namespace dynet
