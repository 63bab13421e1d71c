// Positions: a table of sines, a table of parameters, and the part of it that a sequence gets.
#include "nn/positions.h"

#include <cmath>
#include <numeric>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

namespace {

void check_fits(const char* layer, const Expression& x, unsigned first, std::size_t positions,
                unsigned size) {
  const Dim& dim = x.dim();
  if (dim.rows() != size || dim.ndims() > 2) {
    throw ShapeError('[' + std::string(layer) + "] need " + detail::counted(size, "row") +
                     "; got " + to_string(dim));
  }
  if (first > positions || dim.cols() > positions - first) {
    throw UsageError('[' + std::string(layer) + "] need columns at the " +
                     detail::counted(positions, "position") + " that it was made for; got " +
                     detail::counted(dim.cols(), "column") + " from position " +
                     detail::index_text(first) + " on");
  }
}

}  // namespace

SinusoidalPositions::SinusoidalPositions(unsigned positions, unsigned size) : size_(size) {
  Dim({size, positions}).check();
  if (size == 0 || positions == 0) {
    throw ShapeError("[SinusoidalPositions] need sizes above 0; got " +
                     to_string(Dim({size, positions})));
  }
  values_.reserve(std::size_t{size} * positions);
  for (unsigned position = 0; position < positions; ++position) {
    for (unsigned i = 0; i < size; ++i) {
      const double exponent = static_cast<double>(i - i % 2) / size;
      const double angle = position / std::pow(10000.0, exponent);
      values_.push_back(static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  }
}

Expression SinusoidalPositions::operator()(const Expression& x, unsigned first) const {
  check_fits("SinusoidalPositions", x, first, values_.size() / size_, size_);
  const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(std::size_t{first} * size_);
  const Dim dim = x.dim().single_batch();
  return x +
         input(x.graph("SinusoidalPositions"), dim, std::vector<float>(begin, begin + dim.size()));
}

LearnedPositions::LearnedPositions(ParameterCollection& model, unsigned positions, unsigned size,
                                   const LayerOptions& options)
    : vectors_(model, positions, size,
               {.name = options.name.empty() ? "positions" : options.name}) {}

Expression LearnedPositions::operator()(const Expression& x, unsigned first) const {
  const LookupParameter& table = vectors_.table();
  check_fits("LearnedPositions", x, first, table.rows(), table.dim()[0]);
  std::vector<unsigned> positions(x.dim().cols());
  std::iota(positions.begin(), positions.end(), first);
  const Expression vectors = vectors_.columns(x.graph("LearnedPositions"), positions);
  return x + reshape(vectors, x.dim().single_batch());
}

}  // namespace dynet_like::nn
