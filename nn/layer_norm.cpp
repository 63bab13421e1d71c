// LayerNorm: its parameters and its one call.
#include "nn/layer_norm.h"

#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

LayerNorm::LayerNorm(ParameterCollection& model, unsigned size, const LayerOptions& options) {
  ParameterCollection own = add_layer(model, options.name, "layer_norm");
  gain_ = own.add_parameters({size}, ParameterInitConst(1), "g");
  bias_ = own.add_parameters({size}, ParameterInitConst(0), "b");
}

Expression LayerNorm::operator()(const Expression& x) const {
  check_input("LayerNorm", x, gain_.dim()[0], gain_.get_storage(), true);
  return layer_norm(x, gain_, bias_);
}

}  // namespace dynet_like::nn
