// Gradients against differences of the loss.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/params/gradients.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

/// A number of a parameter, the slope of the loss there, and what its gradient says.
struct GradientDifference {
  std::string parameter;    ///< its full name; of a table with the row, "/words row 3"
  std::size_t element = 0;  ///< of its values, or of those of the row
  double slope = 0, gradient = 0;

  /// How far they are apart, relative to 1 or to the larger of them, if that is more.
  double error() const;
};

/// Compares the gradients of all parameters and rows that a loss depends on with central
/// differences, and returns where they differ most. `loss_of` records the loss, the same one at
/// every call: without dropout. `each`, if given, is called for every number that was compared.
///
/// Use a collection and a graph of DType::f64: errors are below 1e-7 then, unless the loss has a
/// kink nearby. Numbers that are not finite are passed over. In floats, steps are wider and errors
/// below 1e-2. Afterwards all parameters are as they were. For each number it computes the loss
/// twice, so take a small model.
GradientDifference check_gradients(
    const ParameterCollection& model,
    const std::function<Expression(ComputationGraph& graph)>& loss_of,
    const std::function<void(const GradientDifference&)>& each = nullptr);

namespace detail {

/// The same for gradients that are there, of what `loss` computes with the parameters as they are.
GradientDifference check_gradients(const ParameterCollection& model, const Gradients& gradients,
                                   const std::function<double()>& loss,
                                   const std::function<void(const GradientDifference&)>& each);

}  // namespace detail

}  // namespace dynet_like
