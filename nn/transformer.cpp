// TransformerEncoder: the places of norms, dropout and residual connections.
#include "nn/transformer.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

TransformerOptions checked(const TransformerOptions& options) {
  required("TransformerEncoder", "size", options.size);
  required("TransformerEncoder", "hidden", options.hidden);
  required("TransformerEncoder", "heads", options.heads);
  required("TransformerEncoder", "layers", options.layers);
  return options;
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(ParameterCollection& model,
                                                 const TransformerOptions& options)
    : own_(add_layer(model, checked(options).name, "layer")),
      attention_(own_, options.size, {.heads = options.heads, .causal = options.causal}),
      attention_norm_(own_, options.size, {.name = "attention_norm"}),
      network_(own_, options.size, {options.hidden, options.size},
               {.dropout = options.dropout, .activation = options.activation, .name = "network"}),
      network_norm_(own_, options.size, {.name = "network_norm"}),
      dropout_(options.dropout),
      norm_first_(options.norm_first) {}

Expression TransformerEncoderLayer::operator()(const Expression& x) const {
  if (norm_first_) {
    const Expression y = x + dropout(attention_(attention_norm_(x)), dropout_);
    return y + dropout(network_(network_norm_(y)), dropout_);
  }
  const Expression y = attention_norm_(x + dropout(attention_(x), dropout_));
  return network_norm_(y + dropout(network_(y), dropout_));
}

TransformerEncoder::TransformerEncoder(ParameterCollection& model,
                                       const TransformerOptions& options) {
  TransformerOptions of_layer = checked(options);
  ParameterCollection own = add_layer(model, options.name, "transformer");
  for (unsigned i = 0; i < options.layers; ++i) {
    of_layer.name = "layer_" + std::to_string(i);
    layers_.emplace_back(own, of_layer);
  }
  if (options.norm_first) norm_ = LayerNorm(own, options.size, {.name = "norm"});
}

Expression TransformerEncoder::operator()(const Expression& x) const {
  Expression y = x;
  for (const TransformerEncoderLayer& layer : layers_) y = layer(y);
  return norm_ ? (*norm_)(y) : y;
}

}  // namespace dynet_like::nn
