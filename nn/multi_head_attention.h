// MultiHeadAttention: several attentions in parallel, between linear maps.
#pragma once

#include <span>
#include <string>

#include "nn/attention.h"
#include "nn/linear.h"

namespace dynet_like::nn {

struct MultiHeadAttentionOptions {
  /// The number of heads, which share the rows: the size must be a multiple. It has no default.
  unsigned heads = 0;
  /// In self-attention, a column attends only to itself and the columns before it.
  bool causal = false;
  std::string name = {};
};

/// Vaswani et al. (2017), section 3.2.2, with biases: queries, keys and values are linear maps of
/// the inputs; every head attends with its own `size / heads` rows of each; the output is a linear
/// map of all heads.
class MultiHeadAttention {
 public:
  /// Adds the Linear layers "query", "key", "value" and "output" to a subcollection of `model`.
  /// Throws ShapeError for size 0 and unless size is a multiple of heads, UsageError without heads.
  MultiHeadAttention(ParameterCollection& model, unsigned size,
                     const MultiHeadAttentionOptions& options);

  /// The keys and values of a sequence, once for all queries. Shapes: {size, n}, or n of {size}.
  /// Throws ShapeError unless the states fit, UsageError for none.
  AttentionMemory read(const Expression& states) const;
  AttentionMemory read(std::span<const Expression> states) const;
  /// The results of queries. Shapes: {size} -> {size}, {size, m} -> {size, m}. Throws ShapeError
  /// unless they fit.
  Expression operator()(const AttentionMemory& memory, const Expression& queries) const;
  /// The weights of the states, for every head. Shapes: {size} -> {heads, n}, {size, m} -> {heads,
  /// n, m}. Throws ShapeError unless they fit.
  Expression weights(const AttentionMemory& memory, const Expression& queries) const;
  /// Self-attention of a sequence. Shapes: {size, n} -> {size, n}. Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  unsigned heads_;
  bool causal_;
  ParameterCollection own_;  // with the parameters of the members below
  Linear query_, key_, value_, output_;
};

}  // namespace dynet_like::nn
