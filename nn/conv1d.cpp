// Conv1D: one product for each place in a window, over a range of columns.
#include "nn/conv1d.h"

#include <cstdint>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

namespace {

constexpr unsigned kMostProducts = 16;  // of an affine_transform

/// How many columns a window spans.
std::uint64_t span_of(unsigned width, unsigned dilation) {
  return std::uint64_t{width - 1} * dilation + 1;
}

/// Every column goes to a place behind `padding` others, which are sums of nothing.
Expression padded(const Expression& x, unsigned padding) {
  if (padding == 0) return x;
  const unsigned columns = x.dim().cols();
  std::vector<unsigned> places(columns);
  for (unsigned i = 0; i < columns; ++i) places[i] = padding + i;
  return scatter_add(x, places, columns + 2 * padding, 1);
}

/// `count` columns from `first` on, `stride` apart. With a stride of 1, nothing is copied.
Expression columns_from(const Expression& x, unsigned first, unsigned count, unsigned stride) {
  if (stride == 1) return pick_range(x, first, first + count, 1);
  std::vector<unsigned> places(count);
  for (unsigned i = 0; i < count; ++i) places[i] = first + i * stride;
  return gather(x, places, 1);
}

}  // namespace

// The first columns of all windows are a range of columns, the second ones the range shifted by the
// dilation, and so on.
Expression convolve(const Parameter& weights, const Parameter& bias, const Expression& x,
                    unsigned width, unsigned stride, unsigned dilation) {
  const unsigned size = x.dim().rows();
  const auto rest = static_cast<unsigned>(x.dim().cols() - span_of(width, dilation));
  const Expression all = parameter(x.graph("Conv1D"), weights);
  std::vector<Expression> terms = {bias};
  for (unsigned place = 0; place < width; ++place) {
    if (terms.size() == 1 + 2 * kMostProducts) terms = {affine_transform(terms)};
    terms.push_back(pick_range(all, place * size, (place + 1) * size, 1));
    terms.push_back(columns_from(x, place * dilation, rest / stride + 1, stride));
  }
  return affine_transform(terms);
}

Conv1D::Conv1D(ParameterCollection& model, unsigned inputs, unsigned outputs,
               const Conv1DOptions& options)
    : inputs_(inputs),
      width_(required("Conv1D", "width", options.width)),
      stride_(required("Conv1D", "stride", options.stride)),
      dilation_(required("Conv1D", "dilation", options.dilation)),
      padding_(options.padding) {
  const std::uint64_t columns = std::uint64_t{width_} * inputs;
  if (columns > ~0u) {
    throw ShapeError("[Conv1D] need fewer than 2^32 inputs of a window; got " +
                     detail::counted(width_, "column") + " of " + std::to_string(inputs));
  }
  ParameterCollection own = add_layer(model, options.name, "conv1d");
  weights_ = own.add_parameters({outputs, static_cast<unsigned>(columns)}, "W");
  bias_ = own.add_parameters({outputs}, ParameterInitConst(0), "b");
}

Expression Conv1D::operator()(const Expression& x) const {
  check_input("Conv1D", x, inputs_, weights_.get_storage(), true);
  const Dim& dim = x.dim();
  const std::uint64_t span = span_of(width_, dilation_),
                      columns = dim.cols() + 2 * std::uint64_t{padding_};
  if (columns < span || columns > ~0u) {
    throw ShapeError(
        "[Conv1D] need a sequence of at least " +
        detail::counted(span - std::min(span - 1, 2 * std::uint64_t{padding_}), "column") +
        ", for windows of " + std::to_string(span) + " and a padding of " +
        std::to_string(padding_) + "; got " + to_string(dim));
  }
  const Expression matrix = dim.nd == 2 ? x : reshape(x, Dim({inputs_, dim.cols()}, dim.bd));
  return convolve(weights_, bias_, padded(matrix, padding_), width_, stride_, dilation_);
}

}  // namespace dynet_like::nn
