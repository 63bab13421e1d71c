// Attention: means of states, weighted by how well each state matches a query.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// What queries attend to: for every state a key, which is compared with the query, and a value:
/// the state itself or, in MultiHeadAttention, a map of it. Make it once for a sequence, by `read`,
/// and use it for every query. Shapes: {k, n}, {e, n}.
struct AttentionMemory {
  Expression keys, values;
};

/// The memories of some of the hypotheses of a beam, for BatchedSteps::pick: those parts that have
/// a minibatch element per hypothesis are picked, and others belong to all hypotheses.
AttentionMemory pick_batch_elems(const AttentionMemory& memory,
                                 const std::vector<unsigned>& hypotheses);

/// The result of a query: the weighted mean of the values, {e}, and the weight of every key, {n}.
struct Attended {
  Expression mean, weights;
};

/// Joins states as the columns of a matrix. Shapes: {e} -> {e, n}. Throws UsageError for no states.
Expression columns_of(std::span<const Expression> states);

// The layers below read n states (at least one), as a matrix {e, n} or as n vectors {e}. From a
// memory and a query, operator() returns the weighted mean of the states, {e}; `weights` returns
// the softmax of the scores, {n}; `attend` returns both. All throw ShapeError unless shapes fit;
// `read` throws UsageError for no states.

/// score = h' q, for states h and queries q of one size (Luong et al. 2015, "dot").
class DotAttention {
 public:
  AttentionMemory read(const Expression& states) const;
  AttentionMemory read(std::span<const Expression> states) const;
  /// Several queries give a mean and weights each. Shapes: {k} -> {e}, {n}; {k, m} -> {e, m}, {n,
  /// m}.
  Expression operator()(const AttentionMemory& memory, const Expression& query) const;
  Expression weights(const AttentionMemory& memory, const Expression& query) const;
  Attended attend(const AttentionMemory& memory, const Expression& query) const;
};

/// score = q' W h (Luong et al. 2015, "general").
class BilinearAttention {
 public:
  /// Adds its parameter "W" to a subcollection of `model`. Throws ShapeError for size 0.
  BilinearAttention(ParameterCollection& model, unsigned states, unsigned queries,
                    const LayerOptions& options = {});

  AttentionMemory read(const Expression& states) const;
  AttentionMemory read(std::span<const Expression> states) const;
  /// As in DotAttention.
  Expression operator()(const AttentionMemory& memory, const Expression& query) const;
  Expression weights(const AttentionMemory& memory, const Expression& query) const;
  Attended attend(const AttentionMemory& memory, const Expression& query) const;

 private:
  Parameter weights_;
};

struct AdditiveAttentionOptions {
  /// The size of the perceptron's hidden layer. It has no default.
  unsigned hidden = 0;
  std::string name = {};
};

/// score = v' tanh(W h + U q + b), by a multilayer perceptron (Bahdanau et al. 2015).
class AdditiveAttention {
 public:
  /// Adds its parameters "W", "U", "b" and "v" to a subcollection of `model`. Throws ShapeError for
  /// size 0, UsageError without `hidden`.
  AdditiveAttention(ParameterCollection& model, unsigned states, unsigned queries,
                    const AdditiveAttentionOptions& options);

  AttentionMemory read(const Expression& states) const;
  AttentionMemory read(std::span<const Expression> states) const;
  /// One query. Shapes: {k} -> {e}.
  Expression operator()(const AttentionMemory& memory, const Expression& query) const;
  Expression weights(const AttentionMemory& memory, const Expression& query) const;
  Attended attend(const AttentionMemory& memory, const Expression& query) const;

 private:
  Expression scores(const AttentionMemory& memory, const Expression& query) const;

  Parameter state_weights_, query_weights_, bias_, score_weights_;
};

/// Coverage for an AdditiveAttention (See et al. 2017): score = v' tanh(W h + U q + w c + b), where
/// c is the sum of the weights of the state h in all earlier queries.
class Coverage {
 public:
  /// Adds its parameter "w" to a subcollection of `model`; `hidden` must be that of the attention.
  Coverage(ParameterCollection& model, unsigned hidden, const LayerOptions& options = {});

  /// The memory for the next query, after a query with these weights. With a minibatch element per
  /// hypothesis, each has a memory of its own. Shapes: weights {n}. Throws ShapeError unless they
  /// fit.
  AttentionMemory operator()(const AttentionMemory& memory, const Expression& weights) const;

 private:
  Parameter weights_;
};

/// The loss of looking at the same states again (See et al. 2017, equation 12): the sum, over the
/// queries of one sequence and over the states, of min(the weight of this query, the sum of the
/// weights of all earlier ones). Shapes: {n} for each query -> {1}. Throws UsageError for no
/// queries, ShapeError unless all have the same states.
Expression coverage_loss(std::span<const Expression> weights);

}  // namespace dynet_like::nn
