// Log-softmax over words, some of which may be copied from a source.
#include "dynet_like/graph/recording.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

// Words are passed as an input, since the number of integers of an item would be part of its type.
const Op copy_log_softmax = [] {
  Op op;
  op.name = "copy_log_softmax";
  op.formula =
      "ln(g softmax(x) + (1 - g) copied), where g = 1 / (1 + e^-gate), copied[i] = the sum of the "
      "weights of word i (See et al. 2017)";
  op.min_inputs = op.max_inputs = 4;
  op.batching.open_inputs = 0b1100;
  op.batching.shareable = false;
  op.numbers.integers = 1;
  op.gradient.needs = Needs::inputs_and_output;
  op.gradient.saved_size = [](const Signature&) -> std::size_t { return 2; };
  op.shape = [](Inputs in, Attributes) {
    const auto is_row = [](const Dim& dim) { return dim.nd == 2 && dim.rows() == 1; };
    if (in[0].nd != 1 || in[0].rows() == 0 || in[1].size() != 1 || !is_row(in[2]) ||
        !is_row(in[3])) {
      throw_shape_error("copy_log_softmax",
                        "scores {n}, a gate {1}, weights {1, k} and words {1, k}", in);
    }
    return in[0];
  };
  op.cost = [](const Signature& type) { return 10.0 * type.inputs[0].size(); };
  return op;
}();

std::span<const Op* const> copying_ops() {
  static const Op* const all[] = {&copy_log_softmax};
  return all;
}

}  // namespace ops

using namespace detail::recording;

Expression copy_log_softmax(const Expression& x, const Expression& gate, const Expression& weights,
                            const std::vector<unsigned>& words) {
  const Recorder graph = graph_of("copy_log_softmax", std::array{x, gate, weights});
  const auto places = static_cast<unsigned>(words.size());
  if (places == 0 || weights.dim().batch_size() != places) {
    refuse_shapes("copy_log_softmax",
                  "a word for each weight, at least one; not " + std::to_string(places),
                  {x, gate, weights});
  }
  // Not all larger integers are exact as floats.
  const unsigned count = std::min(x.dim().rows(), 1u << 24);
  for (const unsigned word : words) {
    if (word < count) continue;
    throw UsageError("[copy_log_softmax] need words below " + std::to_string(count) + "; got " +
                     detail::index_text(word) + labels_of(x));
  }
  const Dim row({1, places});
  if (const unsigned elements = weights.dim().bd; elements > 1) {
    const auto fits = [&](const Expression& of) {
      return of.dim().bd == 1 || of.dim().bd == elements;
    };
    if (!fits(x) || !fits(gate)) {
      refuse_shapes("copy_log_softmax", "one minibatch element, or the same number of them",
                    {x, gate, weights});
    }
    return by_element(elements, [&](const auto& own) {
      return copy_log_softmax(own(x), own(gate), own(weights), words);
    });
  }
  const Expression numbers = input(graph, row, std::vector<float>(words.begin(), words.end()));
  const ValueId inputs[] = {graph.value(x), graph.value(gate), reshape(weights, row).i, numbers.i};
  return graph.expression(
      graph.writer().add(ops::copy_log_softmax, inputs, {}, {std::span(&places, 1)}));
}

}  // namespace dynet_like
