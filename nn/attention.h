// Attention: means of states, weighted by how well each fits a query.
#pragma once

#include <span>
#include <string>

#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// What queries look at: for every state a key, which is compared with a query, and a value: the
/// state itself or, of MultiHeadAttention, a map of it. It is made once for a sequence, by `read`,
/// and used for every query. Shapes: {k, n}, {e, n}.
struct AttentionMemory {
  Expression keys, values;
};

/// What a query finds: the mean of the values, {e}, and the weight of every key, {n}.
struct Attended {
  Expression mean, weights;
};

/// States as a matrix, a column each. Shapes: {e} -> {e, n}. Throws UsageError for none.
Expression columns_of(std::span<const Expression> states);

// The layers below read states of any number n, at least one, as a matrix {e, n} or as n vectors
// {e}. With a memory and a query, operator() is the mean of the states, {e}, `weights` are the
// softmax of the scores, {n}, and `attend` is both. All throw ShapeError unless shapes fit, `read`
// UsageError for no states.

/// score = h' q, for states h and queries q of one size (Luong et al. 2015, "dot").
class DotAttention {
 public:
  AttentionMemory read(const Expression& states) const;
  AttentionMemory read(std::span<const Expression> states) const;
  /// Several queries have a mean each, and weights. Shapes: {k} -> {e}, {n}; {k, m} -> {e, m}, {n,
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
  /// As DotAttention's.
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

/// Coverage of an AdditiveAttention (See et al. 2017): score = v' tanh(W h + U q + w c + b), where
/// c is the sum of the weights that the state h had before.
class Coverage {
 public:
  /// Adds its parameter "w" to a subcollection of `model`; `hidden` as that of the attention.
  Coverage(ParameterCollection& model, unsigned hidden, const LayerOptions& options = {});

  /// What the next query looks at, after one with these weights. Shapes: weights {n}. Throws
  /// ShapeError unless they fit.
  AttentionMemory operator()(const AttentionMemory& memory, const Expression& weights) const;

 private:
  Parameter weights_;
};

}  // namespace dynet_like::nn
