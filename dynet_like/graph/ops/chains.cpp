// Sums over all sequences of tags, as in a conditional random field over a chain, and over all
// paths that spell labels.
#include "dynet_like/graph/recording.h"

#include <algorithm>
#include <bit>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/chains.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

// Tags are passed as an input, since the number of integers of an item would be part of its type.
// So is the size of what an item saves: it is rounded up, so that sequences of similar lengths
// share a type.
const Op chain_log_partition = [] {
  Op op;
  op.name = "chain_log_partition";
  op.formula =
      "ln of the sum over sequences y with the given tags of e^(start[y_1] + the sum of "
      "emissions_t[y_t] + the sum of transitions[y_t, y_(t + 1)] + end[y_n]) (Rabiner 1989)";
  op.min_inputs = op.max_inputs = 5;
  op.batching.open_inputs = 0b10001;
  op.batching.shareable = false;
  op.numbers.integers = 1;
  op.gradient.saved_size = [](const Signature& type) -> std::size_t {
    return 2 * std::size_t{type.inputs[0].rows()} * type.attributes[0];
  };
  op.shape = [](Inputs in, Attributes attributes) {
    const unsigned tags = in[0].rows();
    const Dim vector({tags}), matrix({tags, tags});
    const bool fits = in[0].nd == 2 && tags > 0 && in[1] == matrix && in[2] == vector &&
                      in[3] == vector && in[4].nd == 2 && in[4].rows() == 1;
    if (!fits || attributes.size() != 1) {
      throw_shape_error("chain_log_partition",
                        "emissions {tags, n}, transitions {tags, tags}, start and end {tags}, and "
                        "a tag per column {1, n}",
                        in);
    }
    return Dim({1});
  };
  // The length is unknown here: assumes that of a sentence.
  op.cost = [](const Signature& type) { return 2.0 * 30 * type.inputs[1].size(); };
  return op;
}();

const Op ctc_log_probability = [] {
  Op op;
  op.name = "ctc_log_probability";
  op.formula =
      "ln of the sum over paths that spell the labels of e^(the sum of x_t[path_t]), where the "
      "last "
      "class is the blank (Graves et al. 2006)";
  op.min_inputs = op.max_inputs = 2;
  op.batching.open_inputs = 0b11;
  op.batching.shareable = false;
  op.numbers.integers = 1;
  op.gradient.saved_size = [](const Signature& type) -> std::size_t { return type.attributes[0]; };
  op.shape = [](Inputs in, Attributes attributes) {
    const bool fits = in[0].nd == 2 && in[0].rows() > 1 && in[1].nd == 2 && in[1].rows() == 1;
    if (!fits || attributes.size() != 1) {
      throw_shape_error("ctc_log_probability",
                        "logarithms of probabilities {classes, n} and a label per column {1, n}",
                        in);
    }
    return Dim({1});
  };
  op.cost = [](const Signature& type) { return 20.0 * type.attributes[0]; };
  return op;
}();

std::span<const Op* const> chain_ops() {
  static const Op* const all[] = {&chain_log_partition, &ctc_log_probability};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

// Rounds up, so that similar sizes have one type.
std::uint32_t room_for(std::size_t count, std::size_t least) {
  return static_cast<std::uint32_t>(std::max(least, std::bit_ceil(count)));
}

}  // namespace

Expression chain_log_partition(const Expression& emissions, const Expression& transitions,
                               const Expression& start, const Expression& end,
                               const std::vector<int>& tags) {
  const Expression all[] = {emissions, transitions, start, end};
  const Recorder graph = graph_of("chain_log_partition", all);
  const Dim dim = emissions.dim();
  if (dim.nd > 2 || dim.bd != 1 || dim.size() == 0) {
    refuse_shapes("chain_log_partition", "emissions {tags, n} without minibatch",
                  {emissions, transitions, start, end});
  }
  const unsigned length = dim.cols();
  if (!tags.empty() && tags.size() != length) {
    throw UsageError("[chain_log_partition] need a tag for each of " +
                     detail::counted(length, "column") + "; got " + std::to_string(tags.size()) +
                     labels_of(emissions));
  }
  std::vector<float> numbers(length, -1);
  for (std::size_t t = 0; t < tags.size(); ++t) {
    if (tags[t] >= static_cast<int>(std::min(dim.rows(), 1u << 24))) {
      throw UsageError("[chain_log_partition] need tags below " + std::to_string(dim.rows()) +
                       "; got " + std::to_string(tags[t]) + labels_of(emissions));
    }
    numbers[t] = static_cast<float>(std::max(tags[t], -1));
  }
  const std::uint32_t kept = room_for(length, 64);
  const ValueId inputs[] = {reshape(emissions, Dim({dim.rows(), length})).i,
                            graph.value(transitions), graph.value(start), graph.value(end),
                            input(graph, Dim({1, length}), numbers).i};
  return graph.expression(graph.writer().add(ops::chain_log_partition, inputs, std::span(&kept, 1),
                                             {std::span(&length, 1)}));
}

Expression ctc_log_probability(const Expression& log_probabilities,
                               const std::vector<unsigned>& labels) {
  const Recorder graph = graph_of("ctc_log_probability", log_probabilities);
  const Dim dim = log_probabilities.dim();
  if (dim.nd > 2 || dim.bd != 1 || dim.rows() < 2 || dim.cols() == 0) {
    refuse_shapes("ctc_log_probability", "{labels + 1, steps} without minibatch",
                  {log_probabilities});
  }
  const unsigned steps = dim.cols(), blank = dim.rows() - 1;
  unsigned fewest = 0;  // equal labels need a blank between them
  for (std::size_t i = 0; i < labels.size(); ++i) {
    fewest += i > 0 && labels[i] == labels[i - 1] ? 2 : 1;
    if (labels[i] < std::min(blank, 1u << 24)) continue;
    throw UsageError("[ctc_log_probability] need labels below " + std::to_string(blank) +
                     ", which is the blank; got " + detail::index_text(labels[i]) +
                     labels_of(log_probabilities));
  }
  if (fewest > steps) {
    throw UsageError("[ctc_log_probability] need at least " + detail::counted(fewest, "step") +
                     " for " + detail::counted(labels.size(), "label") + "; got " +
                     std::to_string(steps) + labels_of(log_probabilities));
  }
  std::vector<float> numbers(labels.begin(), labels.end());
  numbers.resize(steps, -1);
  const std::uint32_t kept = room_for((2 * labels.size() + 1) * steps, 4096);
  const ValueId inputs[] = {reshape(log_probabilities, Dim({dim.rows(), steps})).i,
                            input(graph, Dim({1, steps}), numbers).i};
  return graph.expression(graph.writer().add(ops::ctc_log_probability, inputs, std::span(&kept, 1),
                                             {std::span(&steps, 1)}));
}

}  // namespace dynet_like
