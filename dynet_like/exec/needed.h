// Finds the nodes that must run, going backwards from values.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/common_state.h"

namespace dynet_like::detail {

/// A value of one of the tapes.
struct ValueRef {
  std::uint32_t tape = 0;
  ValueId value = 0;

  bool operator==(const ValueRef&) const = default;
};

/// Finds the nodes that values need and that have not run. Keeps its memory from call to call.
class NeededNodes {
 public:
  explicit NeededNodes(CommonState& common) : common_(common) {}

  /// Targets of one tape must be adjacent. Afterwards sources have their values.
  void collect(std::span<const ValueRef> targets);
  /// The nodes of samples, in the order of tapes and of recording.
  std::span<const NodeRef> of_tapes(std::uint32_t begin, std::uint32_t end) const;
  /// The nodes that all samples share, one for each value, inputs first.
  std::span<const NodeRef> shared() const { return shared_; }
  /// Copies the results of representatives to the other nodes with the same values.
  void resolve_aliases();
  /// How many of the nodes had values that were freed.
  std::size_t recomputed() const { return recomputed_; }
  /// Undoes an unfinished call, so that the next one begins anew.
  void forget();

 private:
  void collect_tape(std::uint32_t tape, NodeId last, std::size_t open);
  void collect_all(std::uint32_t tape);
  bool enter(NodeRef ref);
  void place_source(NodeRef ref);
  void check_device(const ParameterStorage& parameter) const;
  void describe(SharedValue& shared, NodeRef ref);

  CommonState& common_;
  std::vector<NodeRef> pending_, shared_, aliases_;
  std::size_t recomputed_ = 0;
};

}  // namespace dynet_like::detail
