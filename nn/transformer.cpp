// TransformerEncoder: the places of norms, dropout and residual connections.
#include "nn/transformer.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

const TransformerOptions& checked(const char* layer, const TransformerOptions& options) {
  required(layer, "size", options.size);
  required(layer, "hidden", options.hidden);
  required(layer, "heads", options.heads);
  required(layer, "layers", options.layers);
  return options;
}

Residual residual(ParameterCollection& model, const char* norm, const TransformerOptions& options) {
  return {LayerNorm(model, options.size, {.name = norm}), options.dropout, options.norm_first};
}

TransformerEncoderLayer::TransformerEncoderLayer(ParameterCollection& model,
                                                 const TransformerOptions& options)
    : own_(add_layer(model, checked("TransformerEncoder", options).name, "layer")),
      attention_(own_, options.size, {.heads = options.heads, .causal = options.causal}),
      around_attention_(residual(own_, "attention_norm", options)),
      network_(own_, options.size, {options.hidden, options.size},
               {.dropout = options.dropout, .activation = options.activation, .name = "network"}),
      around_network_(residual(own_, "network_norm", options)) {}

Expression TransformerEncoderLayer::operator()(const Expression& x) const {
  return around_network_(around_attention_(x, attention_), network_);
}

TransformerEncoder::TransformerEncoder(ParameterCollection& model,
                                       const TransformerOptions& options) {
  TransformerOptions of_layer = checked("TransformerEncoder", options);
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
