// DyNet's nodes-conv.h. Convolutions along one dimension, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct AverageColumns : detail::UnaryNode<average_cols> {};
struct CircularConvolution : detail::BinaryNode<circ_conv> {};
struct CircularCorrelation : detail::BinaryNode<circ_corr> {};
struct Filter1DNarrow : detail::BinaryNode<filter1d_narrow> {};
struct FoldRows : detail::FunctionNode {
  explicit FoldRows(unsigned rows = 2)
      : FunctionNode(1, [=](const Arguments& xs) { return fold_rows(xs[0], rows); }) {}
};
struct KMaxPooling : detail::FunctionNode {
  explicit KMaxPooling(unsigned k = 1, unsigned d = 1)
      : FunctionNode(1, [=](const Arguments& xs) { return kmax_pooling(xs[0], k, d); }) {}
};
struct KMHNGram : detail::FunctionNode {
  explicit KMHNGram(unsigned n)
      : FunctionNode(1, [=](const Arguments& xs) { return kmh_ngram(xs[0], n); }) {}
};

}  // namespace dynet
