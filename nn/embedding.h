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

/// Any ParameterInit, held by value.
struct AnyInit {
  template <std::derived_from<ParameterInit> Init>
  AnyInit(const Init& init) : shared(std::make_shared<const Init>(init)) {}
  // Moving copies, so that a moved-from object still has its initialiser.
  AnyInit(const AnyInit&) = default;
  AnyInit& operator=(const AnyInit&) = default;

  std::shared_ptr<const ParameterInit> shared;
};

struct EmbeddingOptions {
  /// Initialises the table; by default every number is uniform over [-s, s) with s = sqrt(3 /
  /// size), so the variance is 1 / size.
  AnyInit init = ParameterInitGlorot(true);
  std::string name = {};
};

/// A vector for each number from 0 to rows - 1; only rows that were used get a gradient.
class Embedding {
 public:
  /// Adds the table "E" to a subcollection of `model`. Throws ShapeError for size or rows 0.
  Embedding(ParameterCollection& model, unsigned rows, unsigned size,
            const EmbeddingOptions& options = {});

  /// The vector of a row. Shapes: {size}. Throws UsageError for a row that does not exist.
  Expression operator()(ComputationGraph& graph, std::uint32_t row) const;
  /// The same as an input of an operation or layer whose other inputs have a graph:
  /// `lstm.step(state, words[row])`.
  Expression operator[](std::uint32_t row) const { return table_[row]; }

  // The following take several rows in any order, with repetitions allowed. All throw UsageError
  // for a row that does not exist; the first two also for no rows.

  /// A column per row. Shapes: {size, n}.
  Expression columns(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;
  /// An element of the minibatch per row. Shapes: {size} each.
  Expression minibatch(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;
  /// A bag of words: the sum or the mean of the vectors; zeros for no rows. Shapes: {size}.
  Expression sum(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;
  Expression mean(ComputationGraph& graph, ListOf<std::uint32_t> rows) const;

  const LookupParameter& table() const { return table_; }
  /// The size of a vector.
  unsigned outputs() const { return table_.dim()[0]; }

 private:
  LookupParameter table_;
};

}  // namespace dynet_like::nn
