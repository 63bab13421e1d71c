// GraphRun: how a graph gets values and gradients.
#pragma once

#include <vector>

#include "dynet_like/graph/graph_record.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like::detail {

class Executor;
class ValueWaiter;

/// How a graph gets its values, and where its gradients are.
struct GraphRun {
  const GraphRecord& record;
  Executor& executor;               ///< the graph's own, or its minibatch's
  bool is_beside_others = false;    ///< its minibatch is inside record or for_each_sample
  ValueWaiter* waiter = nullptr;    ///< of its sample, inside for_each_sample
  Gradients own{};                  ///< of passes without a caller's gradients
  Gradients* collected = nullptr;   ///< those passes add to this instead, if it is set
  const Gradients* last = nullptr;  ///< of the last pass; null: none, or the caller's

  /// The executor. Throws UsageError if the graph may not run: inside record or for_each_sample,
  /// and inside a traced function.
  Executor& executor_for(const char* user) const;

  Tensor value(const Expression& e) const;
  /// The expressions must be of this graph.
  std::vector<Tensor> values(Expressions expressions) const;
  Tensor gradient(const Expression& e) const;
};

}  // namespace dynet_like::detail
