// The loss of connectionist temporal classification.
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/chains.h"
#include "nn/structured/ctc.h"

namespace dynet_like::nn {

Expression ctc_loss(const Expression& scores, const std::vector<unsigned>& labels) {
  const Dim dim = scores.dim();
  if (dim.nd > 2 || dim.bd != 1) {
    throw ShapeError("[ctc_loss] need scores {labels + 1, steps}; got " + to_string(dim));
  }
  // With steps as minibatch elements, steps of all samples share a batch.
  const Expression by_step = log_softmax(reshape(scores, Dim({dim.rows()}, dim.cols())));
  return -ctc_log_probability(reshape(by_step, dim), labels);
}

Expression ctc_loss(std::span<const Expression> scores, const std::vector<unsigned>& labels) {
  if (scores.empty()) throw UsageError("[ctc_loss] need at least 1 step; got 0");
  for (const Expression& each : scores) {
    if (const Dim dim = each.dim(); dim.size() != dim.rows()) {
      throw ShapeError("[ctc_loss] need a vector of scores per step; got " + to_string(dim));
    }
  }
  return ctc_loss(concatenate_cols(scores), labels);
}

}  // namespace dynet_like::nn
