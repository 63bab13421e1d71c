// TransformerEncoder: where norms, dropout and the connections past a part are.
#include "nn/transformer.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

TransformerEncoderLayer::TransformerEncoderLayer(ParameterCollection& model, unsigned size,
                                                 unsigned hidden, unsigned heads,
                                                 const TransformerOptions& options,
                                                 const std::string& name)
    : own_(model.add_subcollection(name)),
      attention_(own_, size, heads, "attention"),
      attention_norm_(own_, size, "attention_norm"),
      network_(own_, size, {hidden, size}, {options.activation, options.dropout}, "network"),
      network_norm_(own_, size, "network_norm"),
      dropout_(options.dropout),
      causal_(options.causal),
      norm_first_(options.norm_first) {}

Expression TransformerEncoderLayer::operator()(const Expression& x, bool training) const {
  if (norm_first_) {
    const Expression y = x + dropout_(attention_(attention_norm_(x), causal_), training);
    return y + dropout_(network_(network_norm_(y), training), training);
  }
  const Expression y = attention_norm_(x + dropout_(attention_(x, causal_), training));
  return network_norm_(y + dropout_(network_(y, training), training));
}

TransformerEncoder::TransformerEncoder(ParameterCollection& model, unsigned size, unsigned hidden,
                                       unsigned heads, unsigned layers,
                                       const TransformerOptions& options, const std::string& name) {
  if (layers == 0) throw UsageError("[TransformerEncoder] need at least 1 layer; got 0");
  ParameterCollection own = model.add_subcollection(name);
  for (unsigned i = 0; i < layers; ++i) {
    layers_.emplace_back(own, size, hidden, heads, options, "layer_" + std::to_string(i));
  }
  if (options.norm_first) norm_.emplace(own, size, "norm");
}

Expression TransformerEncoder::operator()(const Expression& x, bool training) const {
  Expression y = x;
  for (const TransformerEncoderLayer& layer : layers_) y = layer(y, training);
  return norm_ ? (*norm_)(y) : y;
}

}  // namespace dynet_like::nn
