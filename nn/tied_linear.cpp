// TiedLinear: a product with the transposed table.
#include "nn/tied_linear.h"

#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

TiedLinear::TiedLinear(ParameterCollection& model, const Embedding& embedding,
                       const LinearOptions& options)
    : table_(embedding.table()) {
  if (!options.bias) return;
  const auto rows = static_cast<unsigned>(table_.rows());
  bias_ = add_layer(model, options.name, "tied_linear")
              .add_parameters({rows}, ParameterInitConst(0), "b");
}

Expression TiedLinear::operator()(const Expression& x) const {
  ComputationGraph& graph = x.graph("TiedLinear");
  check_input("TiedLinear", x, table_.dim()[0], table_.get_storage(), true);
  const Expression weights = transpose(parameter(graph, table_));
  if (bias_.p == nullptr) return weights * x;
  return affine_transform({bias_, weights, x});
}

}  // namespace dynet_like::nn
