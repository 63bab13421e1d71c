// Every layer of nn/, ready to run: tests of what holds for all layers go through this list.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::nn {

/// What a layer computes from columns {rows, n}, in all the ways in which it can be called. A layer
/// that reads numbers of rows or characters takes n of them, and ignores the columns' elements.
using UseLayer = std::function<std::vector<Expression>(const Expression& columns)>;

/// How an object came to be what it is.
enum class Origin { constructed, copied, moved, assigned, moved_from, by_default };

struct LayerCase {
  std::string name;  ///< the class, and what is special about this object
  /// The rows of the columns; 0 for a layer that reads numbers.
  unsigned rows = 0;
  /// Of the results for three columns.
  std::vector<Dim> dims;
  /// Empty where the class has no such object.
  std::function<UseLayer(ParameterCollection&, Origin)> make;

  /// Whether a column of the first result is what the layer makes of that column.
  bool by_column = false;

  /// The first word of the name.
  std::string class_name() const { return name.substr(0, name.find(' ')); }
};

inline void PrintTo(const LayerCase& each, std::ostream* out) { *out << each.name; }

/// A new layer gets an entry here, and with it the tests of tests/nn/all_layers_test.cpp and
/// tests/empty_objects.
const std::vector<LayerCase>& layer_cases();

inline std::vector<Expression> columns_of_matrix(const Expression& xs) {
  std::vector<Expression> columns;
  for (unsigned i = 0; i < xs.dim().cols(); ++i) columns.push_back(pick(xs, i, 1));
  return columns;
}

}  // namespace dynet_like::nn
