// Checks of layers' inputs.
#include "nn/check_input.h"

#include <string>
#include <string_view>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/recording.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::nn {

void check_input(const char* layer, const Expression& x, unsigned size,
                 const ParameterStorage& parameter, bool or_columns, const char* what) {
  if (x.is_stale()) x.graph(layer);  // throws, and names the layer
  const Dim& dim = x.dim();
  if (dim.rows() == size && (or_columns || dim.batch_size() == size)) return;
  std::string advice;
  if (dim.rows() == size) {  // columns where a vector is wanted
    advice = ": give one column at a time, pick(x, i, 1)";
    if (what == std::string_view("inputs")) {
      advice += ", or call the layer itself, which takes a matrix of all columns";
    }
  }
  throw ShapeError('[' + std::string(layer) + "] need " + what + " of size " +
                   std::to_string(size) + " for \"" + parameter.name + "\"; got " + to_string(dim) +
                   advice + detail::recording::labels_of(x));
}

unsigned checked_columns(const char* layer, const Expression& xs, unsigned size,
                         const ParameterStorage& parameter) {
  check_input(layer, xs, size, parameter, true);
  const Dim& dim = xs.dim();
  if (dim.nd > 2 || dim.bd != 1) {
    throw ShapeError('[' + std::string(layer) +
                     "] need a matrix with a column for each element; got " + to_string(dim));
  }
  return dim.cols();
}

void check_columns(const char* layer, const Structure& structure, const Expression& xs,
                   unsigned size, const ParameterStorage& parameter) {
  check_input(layer, xs, size, parameter, true);
  const Dim& dim = xs.dim();
  const unsigned columns = structure.vertices()->matrix(0).columns;
  if (dim.cols() == columns || columns == 0) return;
  throw ShapeError('[' + std::string(layer) + "] need a matrix of " +
                   detail::counted(columns, "column") + ", as many as the structure reads; got " +
                   to_string(dim) + detail::recording::labels_of(xs));
}

}  // namespace dynet_like::nn
