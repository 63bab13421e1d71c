// Which calls of the program recorded which nodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet_like::detail {

using NodeId = std::uint32_t;

/// Return addresses, the innermost first; null behind the last.
using CallStack = std::array<const void*, 16>;

class CallStacks {
 public:
  /// Nodes from this one on belong to the call that this is called in.
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
