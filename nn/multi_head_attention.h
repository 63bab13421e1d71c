// MultiHeadAttention: several attentions side by side, with maps before and behind them.
#pragma once

#include <span>
#include <string>

#include "nn/attention.h"
#include "nn/linear.h"

namespace dynet_like::nn {

struct MultiHeadAttentionOptions {
  /// They share the size, which must be a multiple. It has no default.
  unsigned heads = 0;
  /// In a sequence that attends to itself, every column attends to those up to it alone.
  bool causal = false;
  std::string name = {};
};

/// Vaswani et al. (2017), section 3.2.2, with biases: queries, keys and values are linear maps of
/// what is given, every head attends with its own `size / heads` rows of each, and a linear map of
/// all heads is the output.
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
  /// What queries find there. Shapes: {size} -> {size}, {size, m} -> {size, m}. Throws ShapeError
  /// unless they fit.
  Expression operator()(const AttentionMemory& memory, const Expression& queries) const;
  /// What every head weighs the states with. Shapes: {size} -> {heads, n}, {size, m} -> {heads, n,
  /// m}. Throws ShapeError unless they fit.
  Expression weights(const AttentionMemory& memory, const Expression& queries) const;
  /// A sequence that attends to itself. Shapes: {size, n} -> {size, n}. Throws ShapeError unless x
  /// fits.
  Expression operator()(const Expression& x) const;

 private:
  unsigned heads_;
  bool causal_;
  ParameterCollection own_;  // has the parameters of the layers below
  Linear query_, key_, value_, output_;
};

}  // namespace dynet_like::nn
