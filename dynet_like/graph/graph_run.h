// What runs a graph.
#pragma once

#include <vector>

#include "dynet_like/graph/graph_record.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like::detail {

class Executor;
class ValueWaiter;

/// What runs a graph, and where the gradients are that it gave.
struct GraphRun {
  const GraphRecord& record;
  Executor& executor;               ///< its own, or that of all samples of its minibatch
  bool is_beside_others = false;    ///< its minibatch is inside record or for_each_sample
  ValueWaiter* waiter = nullptr;    ///< of its sample, while that runs in for_each_sample
  Gradients own{};                  ///< of passes without gradients of the caller,
  Gradients* collected = nullptr;   ///< unless they add to these, which outlive the graph
  const Gradients* last = nullptr;  ///< null: there was no pass, or they are the caller's

  /// The executor. Throws UsageError while it is not to be had: beside others, and in a function.
  Executor& executor_for(const char* user) const;

  Tensor value(const Expression& e) const;
  /// Of expressions of this graph.
  std::vector<Tensor> values(Expressions expressions) const;
  Tensor gradient(const Expression& e) const;
};

}  // namespace dynet_like::detail
