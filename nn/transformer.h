// TransformerEncoder: layers of self-attention and of a network for every position.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/layer_norm.h"
#include "nn/mlp.h"
#include "nn/multi_head_attention.h"

namespace dynet_like::nn {

struct TransformerOptions {
  // The first three have no default.

  unsigned size = 0;    ///< of a column
  unsigned hidden = 0;  ///< of the hidden layer of the network for every position
  unsigned heads = 0;   ///< of attention; they share the size, which must be a multiple
  unsigned layers = 1;  ///< of TransformerEncoder
  /// The rate of what attention gives and of both layers of the network, at least 0 and below 1.
  float dropout = 0;
  /// Between the two maps of the network for every position.
  Activation activation = relu;
  /// Every column attends to those up to it alone.
  bool causal = false;
  /// The norm comes before attention and network (Xiong et al. 2020), and what they give is added
  /// to what came in; else behind the sum (Vaswani et al. 2017).
  bool norm_first = true;
  std::string name = {};
};

/// One layer: attention of a sequence to itself, and a network of one hidden layer for every
/// column, each with a connection past it and a norm (Vaswani et al. 2017, section 3.1).
/// Shapes: {size, n} -> {size, n}.
class TransformerEncoderLayer {
 public:
  /// Adds the layers "attention", "attention_norm", "network" (an MLP) and "network_norm" to a
  /// subcollection of `model`. Throws ShapeError for size 0 and unless size is a multiple of heads,
  /// UsageError without size, hidden and heads.
  TransformerEncoderLayer(ParameterCollection& model, const TransformerOptions& options);

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  ParameterCollection own_;  // has the parameters of the layers below
  MultiHeadAttention attention_;
  LayerNorm attention_norm_;
  MLP network_;
  LayerNorm network_norm_;
  float dropout_;
  bool norm_first_;
};

/// Layers on top of each other; with the norm first, one more norm behind the last of them.
/// Shapes: {size, n} -> {size, n}.
class TransformerEncoder {
 public:
  /// Adds layers "layer_0", "layer_1", ... and the LayerNorm "norm", if there is one, to a
  /// subcollection of `model`. Throws what a layer throws, and UsageError for no layers.
  TransformerEncoder(ParameterCollection& model, const TransformerOptions& options);
  // To move is to copy: it never has no layers.
  TransformerEncoder(const TransformerEncoder&) = default;
  TransformerEncoder& operator=(const TransformerEncoder&) = default;

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  std::vector<TransformerEncoderLayer> layers_;
  std::optional<LayerNorm> norm_;
};

}  // namespace dynet_like::nn
