// Linear: its parameters and its one node.
#include "nn/linear.h"

#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

Linear::Linear(ParameterCollection& model, unsigned inputs, unsigned outputs,
               const LinearOptions& options) {
  ParameterCollection own = add_layer(model, options.name, "linear");
  weights_ = own.add_parameters({outputs, inputs}, "W");
  if (options.bias) bias_ = own.add_parameters({outputs}, ParameterInitConst(0), "b");
}

Expression Linear::operator()(const Expression& x) const {
  check_input("Linear", x, weights_.dim()[1], weights_.get_storage(), true);
  if (bias_.p == nullptr) return weights_ * x;
  return affine_transform({bias_, weights_, x});
}

}  // namespace dynet_like::nn
