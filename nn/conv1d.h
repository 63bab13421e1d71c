// Conv1D: filters over windows of a sequence's columns.
#pragma once

#include <string>

#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

struct Conv1DOptions {
  /// The number of columns that a filter reads. It has no default.
  unsigned width = 0;
  unsigned stride = 1;    ///< how many columns apart windows begin
  unsigned dilation = 1;  ///< how many columns apart the columns of a window are
  unsigned padding = 0;   ///< how many columns of zeros come before and after the sequence
  std::string name = {};
};

/// Column t of the result is b + W_1 x_s + W_2 x_(s + dilation) + ... + W_width x_(s + (width - 1)
/// dilation), where s = t stride, in the padded sequence (Waibel et al. 1989; dilation: Yu and
/// Koltun 2016). W = (W_1, W_2, ...). Sequences of all lengths share batches if there are 8 outputs
/// or more. Shapes: {inputs, n} -> {outputs, m}, with m = (n + 2 padding - (width - 1) dilation -
/// 1) / stride + 1, rounded down.
class Conv1D {
 public:
  /// Adds its parameters "W" {outputs, width * inputs} and "b" to a subcollection of `model`.
  /// Throws ShapeError for size 0, UsageError without `width` and for stride or dilation 0.
  Conv1D(ParameterCollection& model, unsigned inputs, unsigned outputs,
         const Conv1DOptions& options);

  /// Throws ShapeError unless x fits and has at least one window.
  Expression operator()(const Expression& x) const;

 private:
  unsigned inputs_, width_, stride_, dilation_, padding_;
  Parameter weights_, bias_;
};

/// The same for weights and bias of another layer, without padding; x must have a window.
Expression convolve(const Parameter& weights, const Parameter& bias, const Expression& x,
                    unsigned width, unsigned stride = 1, unsigned dilation = 1);

}  // namespace dynet_like::nn
