// Attention: scores from keys and queries, and means of values by their softmax.
#include "nn/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

namespace {

/// -infinity for the keys that a query does not see, else 0.
Expression causal_mask(ComputationGraph& graph, unsigned keys, unsigned queries) {
  std::vector<unsigned> hidden;
  for (unsigned query = 0; query < queries; ++query) {
    for (unsigned key = query + 1; key < keys; ++key) hidden.push_back(query * keys + key);
  }
  const std::vector<float> values(hidden.size(), -std::numeric_limits<float>::infinity());
  return input(graph, Dim({keys, queries}), hidden, values);
}

/// The rows of a head.
Expression part_of(const Expression& x, unsigned head, unsigned heads) {
  const unsigned size = x.dim().rows() / heads;
  return heads == 1 ? x : pick_range(x, head * size, (head + 1) * size);
}

/// The mean of the values, weighted by the softmax of k' q.
Expression mean_by_products(const AttentionMemory& memory, const Expression& query) {
  const float scale = std::sqrt(static_cast<float>(query.dim().rows()));
  return attention(query * scale, memory.keys, memory.values);
}

Expression softmax_of_products(const AttentionMemory& memory, const Expression& query) {
  return softmax(transpose(memory.keys) * query);
}

}  // namespace

Expression attention(const Expression& q, const Expression& k, const Expression& v, unsigned heads,
                     bool causal) {
  const Dim &queries = q.dim(), &keys = k.dim(), &values = v.dim();
  const unsigned size = queries.rows();
  if (heads == 0 || size % heads != 0 || values.rows() % heads != 0 || keys.rows() != size ||
      keys.cols() != values.cols()) {
    throw ShapeError(
        "[attention] need {d, m}, {d, n} and {e, n}, d and e multiples of heads; got " +
        to_string(queries) + ' ' + to_string(keys) + ' ' + to_string(values) + " and " +
        std::to_string(heads) + " heads");
  }
  const Expression scaled = q * (1 / std::sqrt(static_cast<float>(size / heads)));
  Expression mask;
  if (causal) mask = causal_mask(q.graph("attention"), keys.cols(), queries.cols());
  std::vector<Expression> outputs;
  for (unsigned head = 0; head < heads; ++head) {
    Expression scores = transpose(part_of(k, head, heads)) * part_of(scaled, head, heads);
    if (causal) scores = scores + mask;
    outputs.push_back(part_of(v, head, heads) * softmax(scores));
  }
  return heads == 1 ? outputs[0] : concatenate(outputs);
}

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
  return softmax(transpose(scores(memory, query)));
}

}  // namespace dynet_like::nn
