// The calls of the program that recorded each node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet_like::detail {

using NodeId = std::uint32_t;

/// Return addresses, the innermost first, followed by null.
using CallStack = std::array<const void*, 16>;

class CallStacks {
 public:
  /// Nodes from `first` on belong to the current call of the program.
  void note(NodeId first);
  const CallStack* find(NodeId node) const;
  /// Forgets the calls of this node and later ones.
  void revert(NodeId node);

 private:
  struct Call {
    NodeId first = 0;
    CallStack stack;
  };
  std::vector<Call> calls_;  ///< by ascending first nodes
};

}  // namespace dynet_like::detail
