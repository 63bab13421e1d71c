// Masks of actions, and states of several hypotheses.
#include "nn/decode/steps.h"

#include <cmath>
#include <limits>
#include <string>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::nn {

void throw_without(const char* function) {
  throw UsageError("[decode] need steps with a function `" + std::string(function) + "`; got none");
}

Expression mean_of_distributions(const std::vector<Expression>& log_probabilities) {
  return logsumexp(log_probabilities) - std::log(static_cast<float>(log_probabilities.size()));
}

Expression masked(const Expression& scores, ListOf<unsigned> allowed) {
  return fill_other_rows(scores, allowed, -std::numeric_limits<float>::infinity());
}

// The output and the cell are next to each other in the value of the cell's node.
CellState pick_batch_elems(const CellState& state, const std::vector<unsigned>& elements) {
  ComputationGraph& graph = state.h.graph("pick_batch_elems");
  const detail::Tape& tape = graph.record().tape();
  const detail::Value h = tape.value(state.h.i), c = tape.value(state.c.i);
  const Expression both = graph.expression(tape.node(h.node).value);
  const unsigned hidden = state.h.dim().rows();
  const bool is_one = h.node == c.node && !h.blocks_gradient && !c.blocks_gradient &&
                      both.dim() == Dim({2 * hidden}, state.h.dim().bd) && h.offset == 0 &&
                      c.offset == hidden;
  if (!is_one) return {pick_batch_elems(state.h, elements), pick_batch_elems(state.c, elements)};
  const Expression picked = pick_batch_elems(both, elements);
  return {pick_range(picked, 0, hidden), pick_range(picked, hidden, 2 * hidden)};
}

}  // namespace dynet_like::nn
