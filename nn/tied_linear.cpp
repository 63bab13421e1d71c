// TiedLinear: a product with the transposed table.
#include "nn/tied_linear.h"

#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

TiedLinear::TiedLinear(ParameterCollection& model, const Embedding& embedding, bool with_bias,
                       const std::string& name)
    : table_(embedding.table()) {
  if (!with_bias) return;
  const auto rows = static_cast<unsigned>(table_.rows());
  bias_ = model.add_subcollection(name).add_parameters({rows}, ParameterInitConst(0), "b");
}

Expression TiedLinear::operator()(const Expression& x) const {
  ComputationGraph& graph = x.graph("TiedLinear");
  check_input("TiedLinear", x, table_.dim()[0], table_.get_storage(), true);
  const Expression weights = transpose(parameter(graph, table_));
  if (bias_.p == nullptr) return weights * x;
  return affine_transform({parameter(graph, bias_), weights, x});
}

}  // namespace dynet_like::nn
