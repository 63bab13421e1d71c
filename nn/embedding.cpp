// Embedding: its table, and the arrangement of rows.
#include "nn/embedding.h"

#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

Embedding::Embedding(ParameterCollection& model, unsigned rows, unsigned size,
                     const EmbeddingOptions& options)
    : table_(add_layer(model, options.name, "embedding")
                 .add_lookup_parameters(rows, {size}, *options.init.shared, "E")) {}

Expression Embedding::operator()(ComputationGraph& graph, std::uint32_t row) const {
  return lookup(graph, table_, row);
}

Expression Embedding::minibatch(ComputationGraph& graph, ListOf<std::uint32_t> rows) const {
  if (rows.size() == 0)
    throw UsageError(
        "[Embedding] need at least 1 row; got 0: leave out an empty list, or give it a row "
        "of its own");
  return lookup(graph, table_, std::vector<unsigned>(rows.begin(), rows.end()));
}

Expression Embedding::columns(ComputationGraph& graph, ListOf<std::uint32_t> rows) const {
  const Expression vectors = minibatch(graph, rows);
  return reshape(vectors, Dim({table_.dim()[0], vectors.dim().batch_elems()}));
}

Expression Embedding::sum(ComputationGraph& graph, ListOf<std::uint32_t> rows) const {
  return rows.size() == 0 ? zeros(graph, table_.dim()) : sum_batches(minibatch(graph, rows));
}

Expression Embedding::mean(ComputationGraph& graph, ListOf<std::uint32_t> rows) const {
  return rows.size() == 0 ? zeros(graph, table_.dim()) : mean_batches(minibatch(graph, rows));
}

}  // namespace dynet_like::nn
