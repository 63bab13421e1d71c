// LabelChain: scores of which label follows which, for CRFs from left to right.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::nn {

struct LabelChain {
  /// Adds the parameters, zero at first, to a subcollection of `model`.
  LabelChain(ParameterCollection& model, unsigned labels, const std::string& name) {
    ParameterCollection own = model.add_subcollection(name);
    const ParameterInitConst zero(0);
    transitions = own.add_parameters({labels, labels}, zero, "transitions");
    start = own.add_parameters({labels}, zero, "start");
    end = own.add_parameters({labels}, zero, "end");
  }

  unsigned labels() const { return start.dim()[0]; }

  /// start[y_1] + sum of transitions[y_t, y_(t + 1)] + end[y_n], for labels that are there.
  Expression score(ComputationGraph& graph, std::span<const unsigned> sequence) const {
    const unsigned n = labels();
    // How often each transition occurs: one product with all scores then serves any sequence.
    std::vector<float> counts(std::size_t{n} * n);
    for (std::size_t t = 1; t < sequence.size(); ++t) {
      ++counts[sequence[t - 1] + std::size_t{n} * sequence[t]];
    }
    return dot_product(finite(graph, transitions), input(graph, Dim({n, n}), counts)) +
           dot_product(finite(graph, start), one_hot(graph, n, sequence.front())) +
           dot_product(finite(graph, end), one_hot(graph, n, sequence.back()));
  }

  Parameter transitions;  ///< {labels, labels}, from the row's label to the column's
  Parameter start, end;   ///< {labels}

 private:
  /// Scores of -infinity, which forbid something, made so that 0 times a score is 0.
  static Expression finite(ComputationGraph& graph, const Parameter& scores) {
    return max(parameter(graph, scores), constant(graph, {1}, -1e30f));
  }
};

}  // namespace dynet_like::nn
