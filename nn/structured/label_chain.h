// LabelChain: scores of transitions between labels, for CRFs from left to right.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/chains.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

struct LabelChain {
  /// Adds the parameters, initially zero, to `own`.
  LabelChain(ParameterCollection own, unsigned labels) {
    const ParameterInitConst zero(0);
    transitions = own.add_parameters({labels, labels}, zero, "transitions");
    start = own.add_parameters({labels}, zero, "start");
    end = own.add_parameters({labels}, zero, "end");
  }

  unsigned labels() const { return start.dim()[0]; }

  /// start[y_1] + sum of transitions[y_t, y_(t + 1)] + end[y_n], as the log partition of a chain
  /// whose labels are all given. Labels must be in range.
  Expression score(ComputationGraph& graph, std::span<const unsigned> sequence) const {
    const Dim dim({labels(), static_cast<unsigned>(sequence.size())});
    const Expression nothing = input(graph, dim, std::vector<float>(dim.size()));
    return chain_log_partition(nothing, transitions, start, end,
                               {sequence.begin(), sequence.end()});
  }

  Parameter transitions;  ///< {labels, labels}, from the row's label to the column's
  Parameter start, end;   ///< {labels}
};

}  // namespace dynet_like::nn
