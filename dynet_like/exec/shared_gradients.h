// Gradients of parameters, and of values of parameters alone, summed in recording order.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "dynet_like/exec/run_state.h"
#include "dynet_like/exec/shared_contributions.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like::detail {

/// Called with a parameter whose gradients will not change any more in this pass.
using OnComplete = std::function<void(const ParameterStorage&)>;

/// Sums the contributions of all lanes' nodes to shared values: one chain per element, in the order
/// of samples, nodes, inputs and items. The chain continues from lane to lane, from run to run, and
/// from the contents of the accumulator.
class SharedGradients {
 public:
  explicit SharedGradients(CommonState& common)
      : common_(common), own_(common), contributions_(common.memory) {}

  /// Forgets the last pass, even if an exception ended it.
  void begin();
  /// Sums contributions, and clears them.
  void add(SharedContributions& contributions, Queue& queue, Gradients& gradients);
  /// A whole pass, by shards: the contributions of a shard, in all lanes, are added to
  /// gradients[shard]. For `lane` see finish(). `complete` may be empty.
  void add_shards(std::span<const SharedContributions* const> lanes, RunState& lane, Queue& queue,
                  std::span<Gradients> gradients, const OnComplete& complete);
  /// Continues through nodes of parameters alone, which ran in `lane`.
  void finish(RunState& lane, Queue& queue, Gradients& gradients);

 private:
  using Target = SharedContributions::Target;
  using Selection = SharedContributions::Selection;
  bool only_samples_read(Identity identity) const;
  void add(const Selection& series, Queue& queue, Gradients& gradients);
  void add_to_table(const Selection& series, Queue& queue, ParameterStorage& table,
                    Gradients& gradients);
  void add_all(const Selection& all, Queue& queue, DType dtype, std::byte* sum, std::size_t size,
               bool fresh);
  void find_recording_order();
  std::byte* derived_gradient(SharedValue& shared, bool& fresh);
  void pass_on(RunState& lane, Queue& queue, const SharedValue& shared, Gradients& gradients);
  std::vector<std::byte*> make_slots(const SharedValue& shared, const NodeType& type);
  void contribute(const SharedValue& shared, const Rows& rows,
                  const std::vector<std::byte*>& slots);
  void check(const SharedValue& shared, const std::byte* gradient) const;

  CommonState& common_;
  SharedContributions own_;  ///< from shared nodes
  std::vector<Identity> recorded_;
  std::vector<bool> is_recorded_;  ///< by identity
  Arena contributions_;            ///< from shared nodes
  Arena lists_;                    ///< lists for kernels
};

}  // namespace dynet_like::detail
