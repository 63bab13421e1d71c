// TransformerDecoder: a whole target at once, or step by step with the keys and values of before.
#include "nn/transformer_decoder.h"

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/check_input.h"
#include "nn/decode/steps.h"

namespace dynet_like::nn {

namespace {

/// One more column behind those of a matrix, which may be empty. Shapes: {size, n} {size} ->
/// {size, n + 1}.
Expression with_column(const Expression& columns, const Expression& next) {
  const Expression column = reshape(next, Dim({next.dim().rows(), 1}, next.dim().bd));
  return columns.empty() ? column : concatenate_cols({columns, column});
}

/// One that all hypotheses share becomes an element for each.
Expression picked(const Expression& x, const std::vector<unsigned>& hypotheses) {
  return x.empty() ? x : dynet_like::pick_batch_elems(x, hypotheses);
}

}  // namespace

TransformerDecoderLayer::TransformerDecoderLayer(ParameterCollection& model,
                                                 const TransformerOptions& options)
    : own_(add_layer(model, checked("TransformerDecoder", options).name, "layer")),
      attention_(own_, options.size, {.heads = options.heads, .causal = true}),
      around_attention_(residual(own_, "attention_norm", options)),
      source_attention_(own_, options.size, {.heads = options.heads, .name = "source_attention"}),
      around_source_(residual(own_, "source_norm", options)),
      network_(own_, options.size, {options.hidden, options.size},
               {.dropout = options.dropout, .activation = options.activation, .name = "network"}),
      around_network_(residual(own_, "network_norm", options)) {}

template <class F>
Expression TransformerDecoderLayer::apply(const Expression& x, const AttentionMemory& source,
                                          const F& attend) const {
  const Expression y = around_attention_(x, attend);
  const Expression z = around_source_(
      y, [&](const Expression& queries) { return source_attention_(source, queries); });
  return around_network_(z, network_);
}

Expression TransformerDecoderLayer::operator()(const Expression& x,
                                               const Expression& source) const {
  return apply(x, source_attention_.read(source), attention_);
}

TransformerDecoderLayer::State TransformerDecoderLayer::start(const Expression& source) const {
  return {{}, {}, source_attention_.read(source)};
}

TransformerDecoderLayer::State TransformerDecoderLayer::step(const State& before,
                                                             const Expression& x) const {
  if (x.dim().cols() != 1) {
    throw ShapeError("[TransformerDecoder] need one column {size} for a step; got " +
                     to_string(x.dim()) + ": pick(x, i, 1) is column i");
  }
  State after = before;
  after.h = apply(x, before.source, [&](const Expression& column) {
    const AttentionMemory own = attention_.read(column);
    after.target = {with_column(before.target.keys, own.keys),
                    with_column(before.target.values, own.values)};
    return attention_(after.target, column);
  });
  return after;
}

TransformerDecoder::TransformerDecoder(ParameterCollection& model,
                                       const TransformerOptions& options) {
  TransformerOptions of_layer = checked("TransformerDecoder", options);
  ParameterCollection own = add_layer(model, options.name, "transformer_decoder");
  for (unsigned i = 0; i < options.layers; ++i) {
    of_layer.name = "layer_" + std::to_string(i);
    layers_.emplace_back(own, of_layer);
  }
  if (options.norm_first) norm_ = LayerNorm(own, options.size, {.name = "norm"});
}

Expression TransformerDecoder::operator()(const Expression& x, const Expression& source) const {
  Expression y = x;
  for (const TransformerDecoderLayer& layer : layers_) y = layer(y, source);
  return norm_ ? (*norm_)(y) : y;
}

TransformerDecoder::State TransformerDecoder::start(const Expression& source) const {
  State state;
  for (const TransformerDecoderLayer& layer : layers_) state.layers.push_back(layer.start(source));
  return state;
}

TransformerDecoder::State TransformerDecoder::step(const State& before, const Expression& x) const {
  if (before.layers.size() != layers_.size()) {
    throw UsageError("[TransformerDecoder] need a state for each of " +
                     detail::counted(layers_.size(), "layer") + ", made by start(source); got " +
                     std::to_string(before.layers.size()));
  }
  State after{x, {}};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    after.layers.push_back(layers_[i].step(before.layers[i], after.h));
    after.h = after.layers.back().h;
  }
  if (norm_) after.h = (*norm_)(after.h);
  return after;
}

unsigned TransformerDecoder::State::length() const {
  if (layers.empty() || layers[0].target.keys.empty()) return 0;
  return layers[0].target.keys.dim().cols();
}

TransformerDecoderLayer::State pick_batch_elems(const TransformerDecoderLayer::State& state,
                                                const std::vector<unsigned>& hypotheses) {
  return {picked(state.h, hypotheses), pick_batch_elems(state.target, hypotheses),
          pick_batch_elems(state.source, hypotheses)};
}

TransformerDecoder::State pick_batch_elems(const TransformerDecoder::State& state,
                                           const std::vector<unsigned>& hypotheses) {
  return {picked(state.h, hypotheses), pick_batch_elems(state.layers, hypotheses)};
}

}  // namespace dynet_like::nn
