// Attention: scores from keys and queries, and means of values by their softmax.
#include "nn/attention.h"

#include <cmath>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

namespace {

/// The mean of the values, weighted by the softmax of k' q.
Expression mean_by_products(const AttentionMemory& memory, const Expression& query) {
  const float scale = std::sqrt(static_cast<float>(query.dim().rows()));
  return attention(query * scale, memory.keys, memory.values);
}

/// The softmax of a row of scores. The number of keys is no part of a type here, as it is in a
/// softmax of {n}. Shapes: {1, n} -> {n}.
Expression softmax_of_row(const Expression& scores) {
  const unsigned keys = scores.dim().cols();
  return reshape(segment_softmax(scores, {keys}), Dim({keys}, scores.dim().batch_elems()));
}

// Keys are minibatch elements, so that any number of them is one batch; several queries at once are
// a product of matrices, which has a type for every number.
Expression softmax_of_products(const AttentionMemory& memory, const Expression& query) {
  const Dim keys = memory.keys.dim(), queries = query.dim();
  if (keys.batch_elems() > 1 || queries.cols() > 1 || queries.batch_elems() > 1) {
    return softmax(transpose(memory.keys) * query);
  }
  const Expression columns = reshape(memory.keys, Dim({keys.rows()}, keys.cols()));
  const Expression products = dot_product(columns, reshape(query, {queries.rows()}));
  return softmax_of_row(reshape(products, {1, keys.cols()}));
}

}  // namespace

Expression columns_of(std::span<const Expression> states) {
  if (states.empty()) throw UsageError("[attention] need at least 1 state; got 0");
  return concatenate_cols(std::vector<Expression>(states.begin(), states.end()));
}

AttentionMemory DotAttention::read(std::span<const Expression> states) const {
  return read(columns_of(states));
}

Expression DotAttention::operator()(const AttentionMemory& memory, const Expression& query) const {
  return mean_by_products(memory, query);
}

Expression DotAttention::weights(const AttentionMemory& memory, const Expression& query) const {
  return softmax_of_products(memory, query);
}

BilinearAttention::BilinearAttention(ParameterCollection& model, unsigned states, unsigned queries,
                                     const std::string& name)
    : weights_(model.add_subcollection(name).add_parameters({queries, states}, "W")) {}

AttentionMemory BilinearAttention::read(const Expression& states) const {
  return {parameter(states.graph("BilinearAttention"), weights_) * states, states};
}

AttentionMemory BilinearAttention::read(std::span<const Expression> states) const {
  return read(columns_of(states));
}

Expression BilinearAttention::operator()(const AttentionMemory& memory,
                                         const Expression& query) const {
  return mean_by_products(memory, query);
}

Expression BilinearAttention::weights(const AttentionMemory& memory,
                                      const Expression& query) const {
  return softmax_of_products(memory, query);
}

AdditiveAttention::AdditiveAttention(ParameterCollection& model, unsigned states, unsigned queries,
                                     unsigned hidden, const std::string& name) {
  ParameterCollection own = model.add_subcollection(name);
  state_weights_ = own.add_parameters({hidden, states}, "W");
  query_weights_ = own.add_parameters({hidden, queries}, "U");
  bias_ = own.add_parameters({hidden}, ParameterInitConst(0), "b");
  score_weights_ = own.add_parameters({1, hidden}, "v");
}

AttentionMemory AdditiveAttention::read(const Expression& states) const {
  ComputationGraph& graph = states.graph("AdditiveAttention");
  const Expression keys =
      affine_transform({parameter(graph, bias_), parameter(graph, state_weights_), states});
  return {keys, states};
}

AttentionMemory AdditiveAttention::read(std::span<const Expression> states) const {
  return read(columns_of(states));
}

Expression AdditiveAttention::scores(const AttentionMemory& memory, const Expression& query) const {
  ComputationGraph& graph = query.graph("AdditiveAttention");
  if (query.dim().cols() != 1) {
    throw ShapeError("[AdditiveAttention] need one query {k}; got " + to_string(query.dim()));
  }
  const Expression sums = memory.keys + parameter(graph, query_weights_) * query;
  return parameter(graph, score_weights_) * tanh(sums);
}

// The scores are keys of one row for the query 1.
Expression AdditiveAttention::operator()(const AttentionMemory& memory,
                                         const Expression& query) const {
  const Expression one = constant(query.graph("AdditiveAttention"), {1}, 1);
  return attention(one, scores(memory, query), memory.values);
}

Expression AdditiveAttention::weights(const AttentionMemory& memory,
                                      const Expression& query) const {
  return softmax_of_row(scores(memory, query));
}

}  // namespace dynet_like::nn
