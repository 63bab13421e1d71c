// Minibatch: what DyNet does not have, for programs whose samples ask for values on the way.
#pragma once

#include "dynet/dynet.h"
#include "dynet_like/graph/for_each_sample.h"

namespace dynet {

/// The library's minibatch of graphs with DyNet's names: `for_each_sample(batch, n, f)` runs
/// `f(cg, i)` with a ComputationGraph of DyNet's for every sample, and computes together what they
/// wait for. Keep it and `clear` it, instead of making one for every minibatch.
class Minibatch : public dynet_like::Minibatch {
 public:
  /// Policy, device, random numbers and timing are those of all graphs of the process.
  explicit Minibatch(const dynet_like::GraphOptions& options = {});
  ~Minibatch() override;

  ComputationGraph& new_graph();
  ComputationGraph& graph(std::size_t sample);

  /// Adds to the gradients of the parameters, as ComputationGraph::backward does. Throws as that of
  /// the library's minibatch.
  void backward();
  void clear();

 private:
  void add_to_profile() const;

  bool is_profiled_;
};

}  // namespace dynet
