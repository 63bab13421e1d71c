// MLP: applies its layers in turn.
#include "nn/mlp.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

MLP::MLP(ParameterCollection& model, unsigned inputs, const std::vector<unsigned>& sizes,
         const MLPOptions& options)
    : activation_(options.activation), dropout_(options.dropout) {
  if (sizes.empty()) throw UsageError("[MLP] need at least 1 layer; got 0");
  ParameterCollection own = add_layer(model, options.name, "mlp");
  for (const unsigned outputs : sizes) {
    const std::string name = "layer_" + std::to_string(layers_.size());
    layers_.push_back(Linear(own, inputs, outputs, {.name = name}));
    inputs = outputs;
  }
}

Expression MLP::operator()(const Expression& x) const {
  Expression y = layers_.front()(x);
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    y = layers_[i](dropout(activation_(y), dropout_));
  }
  return y;
}

}  // namespace dynet_like::nn
