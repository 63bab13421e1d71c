// Embedding: a table of vectors, one per word.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>

#include "dynet_like/core/list_of.h"
#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// Any ParameterInit, as a value.
struct AnyInit {
  template <std::derived_from<ParameterInit> Init>
  AnyInit(const Init& init) : shared(std::make_shared<const Init>(init)) {}
  // To move is to copy: there is always one.
  AnyInit(const AnyInit&) = default;
  AnyInit& operator=(const AnyInit&) = default;

  std::shared_ptr<const ParameterInit> shared;
};

struct EmbeddingOptions {
  /// Of the table; by default every number is uniform over [-s, s), s = sqrt(3 / size): variance
  /// 1 / size.
  AnyInit init = ParameterInitGlorot(true);
  std::string name = {};
};

/// A vector for each number from 0 to rows - 1; only rows that were used get a gradient.
class Embedding {
 public:
  /// Adds the table "E" to a subcollection of `model`. Throws ShapeError for size or rows 0.
  Embedding(ParameterCollection& model, unsigned rows, unsigned size,
            const EmbeddingOptions& options = {});

  /// The vector of a row. Shapes: {size}. Throws UsageError for a row that is not there.
  Expression operator()(ComputationGraph& graph, std::uint32_t row) const;
  /// The same where an operation or a layer knows the graph: `lstm.step(state, words[row])`.
  Expression operator[](std::uint32_t row) const { return table_[row]; }

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
