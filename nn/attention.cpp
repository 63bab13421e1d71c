// Attention: scores from keys and queries, and means of values by their softmax.
#include "nn/attention.h"

#include <cmath>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

namespace {

// `attention` divides scores by the square root of this size. Undoes that, once for all queries.
Expression scaled_keys(const Expression& keys) {
  return keys * std::sqrt(static_cast<float>(keys.dim().rows()));
}

/// {k} -> {n}, {k, m} -> {n, m}.
Expression weights_by_products(const AttentionMemory& memory, const Expression& query) {
  Dim dim = query.dim();
  dim.d[0] = memory.keys.dim().cols();
  return reshape(attention_weights(query, memory.keys), dim);
}

/// The softmax of a row of scores. Unlike `softmax` of {n}, it has one type for all numbers of
/// keys. Shapes: {1, n} -> {n}.
Expression softmax_of_row(const Expression& scores) {
  const unsigned keys = scores.dim().cols();
  return reshape(segment_softmax(scores, {keys}), Dim({keys}, scores.dim().batch_elems()));
}

/// The mean by given scores {1, n}: uses them as keys of size 1, with the query 1.
Expression mean_by_scores(const AttentionMemory& memory, const Expression& scores) {
  return attention(constant(scores.graph("attention"), {1}, 1), scores, memory.values);
}

}  // namespace

AttentionMemory pick_batch_elems(const AttentionMemory& memory,
                                 const std::vector<unsigned>& hypotheses) {
  const auto pick = [&](const Expression& x) {
    return x.empty() || x.dim().bd == 1 ? x : dynet_like::pick_batch_elems(x, hypotheses);
  };
  return {pick(memory.keys), pick(memory.values)};
}

Expression columns_of(std::span<const Expression> states) {
  if (states.empty()) throw UsageError("[attention] need at least 1 state; got 0");
  return concatenate_cols(std::vector<Expression>(states.begin(), states.end()));
}

AttentionMemory DotAttention::read(const Expression& states) const {
  return {scaled_keys(states), states};
}

AttentionMemory DotAttention::read(std::span<const Expression> states) const {
  return read(columns_of(states));
}

Expression DotAttention::operator()(const AttentionMemory& memory, const Expression& query) const {
  return attention(query, memory.keys, memory.values);
}

Expression DotAttention::weights(const AttentionMemory& memory, const Expression& query) const {
  return weights_by_products(memory, query);
}

Attended DotAttention::attend(const AttentionMemory& memory, const Expression& query) const {
  return {(*this)(memory, query), weights(memory, query)};
}

BilinearAttention::BilinearAttention(ParameterCollection& model, unsigned states, unsigned queries,
                                     const LayerOptions& options)
    : weights_(add_layer(model, options.name, "bilinear_attention")
                   .add_parameters({queries, states}, "W")) {}

AttentionMemory BilinearAttention::read(const Expression& states) const {
  check_input("BilinearAttention", states, weights_.dim()[1], weights_.get_storage(), true,
              "states");
  return {scaled_keys(weights_ * states), states};
}

AttentionMemory BilinearAttention::read(std::span<const Expression> states) const {
  return read(columns_of(states));
}

Expression BilinearAttention::operator()(const AttentionMemory& memory,
                                         const Expression& query) const {
  return attention(query, memory.keys, memory.values);
}

Expression BilinearAttention::weights(const AttentionMemory& memory,
                                      const Expression& query) const {
  return weights_by_products(memory, query);
}

Attended BilinearAttention::attend(const AttentionMemory& memory, const Expression& query) const {
  return {(*this)(memory, query), weights(memory, query)};
}

AdditiveAttention::AdditiveAttention(ParameterCollection& model, unsigned states, unsigned queries,
                                     const AdditiveAttentionOptions& options) {
  const unsigned hidden = required("AdditiveAttention", "hidden", options.hidden);
  ParameterCollection own = add_layer(model, options.name, "additive_attention");
  state_weights_ = own.add_parameters({hidden, states}, "W");
  query_weights_ = own.add_parameters({hidden, queries}, "U");
  bias_ = own.add_parameters({hidden}, ParameterInitConst(0), "b");
  score_weights_ = own.add_parameters({1, hidden}, "v");
}

AttentionMemory AdditiveAttention::read(const Expression& states) const {
  check_input("AdditiveAttention", states, state_weights_.dim()[1], state_weights_.get_storage(),
              true, "states");
  const Expression keys = affine_transform({bias_, state_weights_, states});
  return {keys, states};
}

AttentionMemory AdditiveAttention::read(std::span<const Expression> states) const {
  return read(columns_of(states));
}

Expression AdditiveAttention::scores(const AttentionMemory& memory, const Expression& query) const {
  if (query.dim().cols() != 1) {
    throw ShapeError("[AdditiveAttention] need one query {k}; got " + to_string(query.dim()));
  }
  check_input("AdditiveAttention", query, query_weights_.dim()[1], query_weights_.get_storage(),
              false, "queries");
  const Expression hidden = tanh_of_sum(memory.keys, query_weights_ * query);
  return score_weights_ * hidden;
}

Expression AdditiveAttention::operator()(const AttentionMemory& memory,
                                         const Expression& query) const {
  return mean_by_scores(memory, scores(memory, query));
}

Expression AdditiveAttention::weights(const AttentionMemory& memory,
                                      const Expression& query) const {
  return softmax_of_row(scores(memory, query));
}

Attended AdditiveAttention::attend(const AttentionMemory& memory, const Expression& query) const {
  const Expression row = scores(memory, query);
  return {mean_by_scores(memory, row), softmax_of_row(row)};
}

Coverage::Coverage(ParameterCollection& model, unsigned hidden, const LayerOptions& options)
    : weights_(add_layer(model, options.name, "coverage").add_parameters({hidden, 1}, "w")) {}

AttentionMemory Coverage::operator()(const AttentionMemory& memory,
                                     const Expression& weights) const {
  const Dim& dim = weights.dim();
  const unsigned states = memory.keys.dim().cols();
  if (dim.batch_size() != states) {
    throw ShapeError("[Coverage] need the weights of one query, " + to_string(Dim({states})) +
                     ", and a minibatch element per hypothesis; got " + to_string(dim));
  }
  const Expression row = reshape(weights, Dim({1, states}, dim.bd));
  return {affine_transform({memory.keys, weights_, row}), memory.values};
}

// The weights are minibatch elements, so that sequences of all lengths share batches.
Expression coverage_loss(std::span<const Expression> weights) {
  if (weights.empty()) throw UsageError("[coverage_loss] need the weights of a query; got none");
  const Dim first = weights[0].dim();
  std::vector<Expression> again;
  Expression covered;
  for (const Expression& each : weights) {
    if (each.dim().size() != first.batch_size()) {
      throw ShapeError("[coverage_loss] need a vector of weights for each query, of the same " +
                       detail::counted(first.batch_size(), "state") + "; got " +
                       to_string(each.dim()));
    }
    const Expression now = reshape(each, Dim({1}, first.batch_size()));
    if (!covered.empty()) again.push_back(min(now, covered));
    covered = covered.empty() ? now : covered + now;
  }
  if (again.empty()) return zeros(weights[0].graph("coverage_loss"), {1});
  return sum_batches(sum(again));
}

}  // namespace dynet_like::nn
