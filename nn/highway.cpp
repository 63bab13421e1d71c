// Highway: one product per layer computes both the gate and the map.
#include "nn/highway.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"
#include "nn/gates.h"

namespace dynet_like::nn {

Highway::Highway(ParameterCollection& model, unsigned size, const HighwayOptions& options)
    : size_(size), activation_(options.activation) {
  if (options.layers == 0) throw UsageError("[Highway] need at least 1 layer; got 0");
  ParameterCollection own = add_layer(model, options.name, "highway");
  for (unsigned i = 0; i < options.layers; ++i) {
    const Parameter weights = add_gate_weights(own, 2, size, size, "W");
    layers_.push_back({weights, add_gate_bias(own, size, {-1, 0}, "b")});
  }
}

Expression Highway::operator()(const Expression& x) const {
  check_input("Highway", x, size_, layers_.front().weights.get_storage(), true);
  Expression y = x;
  for (const Layer& layer : layers_) {
    const Expression sums = affine_transform({layer.bias, layer.weights, y});
    const Expression gate = sigmoid(pick_range(sums, 0, size_));
    const Expression mapped = activation_(pick_range(sums, size_, 2 * size_));
    y = y + cmult(gate, mapped - y);
  }
  return y;
}

}  // namespace dynet_like::nn
