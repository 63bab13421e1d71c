// Expression: a handle on a value of a computation graph.
#pragma once

#include <cstdint>
#include <string>

#include "dynet_like/core/tensor.h"
#include "dynet_like/graph/handles.h"

namespace dynet_like {

class ComputationGraph;

/// A value that is computed when it is asked for. Cheap to copy. Use after its graph was cleared or
/// destroyed throws UsageError.
struct Expression {
  ComputationGraph* pg = nullptr;
  std::uint32_t i = 0;
  std::uint32_t generation = 0;
  const HandleSlot* slot = nullptr;

  /// The shape, with the minibatch dimension.
  Dim dim() const;
  /// The value, computed if need be; it lies in the graph until the graph is cleared.
  Tensor value() const;
  /// The gradient in the last backward pass; zeros if it has none.
  Tensor gradient() const;
  /// Names the node in error messages. Returns the same expression.
  const Expression& label(std::string name) const;

  bool is_stale() const { return slot == nullptr || slot->generation.load() != generation; }
  /// The graph. Throws UsageError, naming `user`, if it is not there any more.
  ComputationGraph& graph(const char* user) const {
    if (is_stale()) throw_stale(user);
    return *pg;
  }

 private:
  [[noreturn]] void throw_stale(const char* user) const;
};

}  // namespace dynet_like
