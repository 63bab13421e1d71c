// Embedding: its table and its one node.
#include "nn/embedding.h"

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

Embedding::Embedding(ParameterCollection& model, unsigned rows, unsigned size,
                     const std::string& name)
    : Embedding(model, rows, size, ParameterInitGlorot(true), name) {}

Embedding::Embedding(ParameterCollection& model, unsigned rows, unsigned size,
                     const ParameterInit& init, const std::string& name)
    : table_(model.add_subcollection(name).add_lookup_parameters(rows, {size}, init, "E")) {}

Expression Embedding::operator()(ComputationGraph& graph, std::uint32_t row) const {
  return lookup(graph, table_, row);
}

}  // namespace dynet_like::nn
