// TransformerDecoder: layers that attend to what was written, and to a source.
#pragma once

#include <optional>
#include <vector>

#include "nn/transformer.h"

namespace dynet_like::nn {

/// One layer: causal self-attention, attention to the columns of a source, such as the result of a
/// TransformerEncoder, and a network with one hidden layer; each with a residual connection and a
/// norm (Vaswani et al. 2017, section 3.1). Source and target have columns of one size.
class TransformerDecoderLayer {
 public:
  /// What the next step reads: keys and values of all columns so far, and of the source, which are
  /// computed once; and the output of the last step.
  struct State {
    Expression h;
    AttentionMemory target, source;
  };

  /// Adds the layers "attention", "attention_norm", "source_attention", "source_norm", "network"
  /// (an MLP) and "network_norm" to a subcollection of `model`. Throws as TransformerEncoderLayer
  /// does. The options `causal` and `layers` have no effect.
  TransformerDecoderLayer(ParameterCollection& model, const TransformerOptions& options);

  /// All columns at once, as in training: each reads itself and the columns before it. Shapes:
  /// {size, m} {size, n} -> {size, m}. Throws ShapeError unless they fit.
  Expression operator()(const Expression& x, const Expression& source) const;

  /// The state before the first column, without an output.
  State start(const Expression& source) const;
  /// The state after one more column: its `h` is the column of the result above, with the same bits
  /// if there is no dropout. Shapes: {size} -> {size}; with a minibatch element per hypothesis,
  /// each has columns of its own. Throws ShapeError unless x fits.
  State step(const State& before, const Expression& x) const;

 private:
  /// The parts of the layer around self-attention, which differs between steps and a whole target.
  template <class F>
  Expression apply(const Expression& x, const AttentionMemory& source, const F& attend) const;

  ParameterCollection own_;  // with the parameters of the members below
  MultiHeadAttention attention_;
  Residual around_attention_;
  MultiHeadAttention source_attention_;
  Residual around_source_;
  MLP network_;
  Residual around_network_;
};

/// A stack of such layers, which all attend to the same source; with `norm_first`, one more norm
/// follows the last layer.
class TransformerDecoder {
 public:
  /// The states of all layers, from the lowest, and the output of the last step.
  struct State {
    Expression h;
    std::vector<TransformerDecoderLayer::State> layers;

    /// How many columns have been read: the position of the next one.
    unsigned length() const;
  };

  /// Adds layers "layer_0", "layer_1", ... and, with `norm_first`, the LayerNorm "norm" to a
  /// subcollection of `model`. Throws as TransformerEncoder does.
  TransformerDecoder(ParameterCollection& model, const TransformerOptions& options);
  // Moving copies, so that a moved-from object still has its layers.
  TransformerDecoder(const TransformerDecoder&) = default;
  TransformerDecoder& operator=(const TransformerDecoder&) = default;

  /// As in TransformerDecoderLayer.
  Expression operator()(const Expression& x, const Expression& source) const;
  State start(const Expression& source) const;
  /// Throws UsageError unless the state has one for each layer.
  State step(const State& before, const Expression& x) const;

 private:
  std::vector<TransformerDecoderLayer> layers_;
  std::optional<LayerNorm> norm_;
};

/// The states of some hypotheses, for BatchedSteps: all that has a minibatch element per hypothesis
/// is picked.
TransformerDecoderLayer::State pick_batch_elems(const TransformerDecoderLayer::State& state,
                                                const std::vector<unsigned>& hypotheses);
TransformerDecoder::State pick_batch_elems(const TransformerDecoder::State& state,
                                           const std::vector<unsigned>& hypotheses);

}  // namespace dynet_like::nn
