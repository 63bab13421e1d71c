// TransformerEncoder: layers of self-attention and of a feed-forward network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/mlp.h"
#include "nn/multi_head_attention.h"
#include "nn/residual.h"

namespace dynet_like::nn {

struct TransformerOptions {
  // The first three have no default.

  unsigned size = 0;    ///< the size of a column
  unsigned hidden = 0;  ///< the size of the feed-forward network's hidden layer
  unsigned heads = 0;   ///< of attention; size must be a multiple of heads
  unsigned layers = 1;  ///< the number of layers of a stack
  /// The dropout rate of the attention's output and of both layers of the network, at least 0 and
  /// below 1.
  float dropout = 0;
  /// The activation between the two maps of the network.
  Activation activation = relu;
  /// A column attends only to itself and the columns before it.
  bool causal = false;
  /// If true, attention and network read normalised inputs, and their output is added to the input
  /// before the norm (Xiong et al. 2020); else the sum is normalised (Vaswani et al. 2017).
  bool norm_first = true;
  std::string name = {};
};

/// The options. Throws UsageError, with the layer's name, without size, hidden, heads and layers.
const TransformerOptions& checked(const char* layer, const TransformerOptions& options);
/// The connection around one part of a layer, with a norm of this name.
Residual residual(ParameterCollection& model, const char* norm, const TransformerOptions& options);

/// One layer: self-attention, and a network with one hidden layer that is applied to every column;
/// each with a residual connection and a norm (Vaswani et al. 2017, section 3.1).
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
  ParameterCollection own_;  // with the parameters of the members below
  MultiHeadAttention attention_;
  Residual around_attention_;
  MLP network_;
  Residual around_network_;
};

/// A stack of such layers; with `norm_first`, one more norm follows the last layer.
/// Shapes: {size, n} -> {size, n}.
class TransformerEncoder {
 public:
  /// Adds layers "layer_0", "layer_1", ... and, with `norm_first`, the LayerNorm "norm" to a
  /// subcollection of `model`. Throws what TransformerEncoderLayer throws, and UsageError for no
  /// layers.
  TransformerEncoder(ParameterCollection& model, const TransformerOptions& options);
  // Moving copies, so that a moved-from object still has its layers.
  TransformerEncoder(const TransformerEncoder&) = default;
  TransformerEncoder& operator=(const TransformerEncoder&) = default;

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  std::vector<TransformerEncoderLayer> layers_;
  std::optional<LayerNorm> norm_;
};

}  // namespace dynet_like::nn
