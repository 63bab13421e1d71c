// Embedding: a table of vectors, one per word.
#pragma once

#include <cstdint>
#include <string>

#include "dynet_like/core/list_of.h"
#include "dynet_like/graph/expression.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::nn {

/// A vector for each number from 0 to rows - 1; only rows that were used get a gradient.
class Embedding {
 public:
  /// Adds the table "E" to a subcollection of `model`, by default with every number uniform over
  /// [-s, s), s = sqrt(3 / size): variance 1 / size. Throws ShapeError for size or rows 0.
  Embedding(ParameterCollection& model, unsigned rows, unsigned size,
            const std::string& name = "embedding");
  Embedding(ParameterCollection& model, unsigned rows, unsigned size, const ParameterInit& init,
            const std::string& name = "embedding");

  /// The vector of a row. Shapes: {size}. Throws UsageError for a row that is not there.
  Expression operator()(ComputationGraph& graph, std::uint32_t row) const;

  // Of several rows, in any order; one may come several times. All of the following throw
  // UsageError for a row that is not there, and the first two for no rows.

  /// A column per row. Shapes: {size, n}.
  Expression columns(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;
  /// An element of the minibatch per row. Shapes: {size} each.
  Expression minibatch(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;
  /// A bag of words: the sum or the mean of the vectors; zeros for no rows. Shapes: {size}.
  Expression sum(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;
  Expression mean(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;

  const LookupParameter& table() const { return table_; }

 private:
  LookupParameter table_;
};

}  // namespace dynet_like::nn
