// Compares gradients with differences of the loss.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/params/gradients.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

/// A number of a parameter, the slope of the loss there, and the gradient.
struct GradientDifference {
  std::string parameter;    ///< its full name; for a row of a table "/words row 3"
  std::size_t element = 0;  ///< its place in the parameter, or in the row
  double slope = 0, gradient = 0;

  /// The difference, relative to the larger of the two, or absolute if both are below 1.
  double error() const;
};

/// Compares the gradients of all parameters and rows that a loss depends on with central
/// differences, and returns where they differ most. Every call of `loss_of` must record the same
/// loss, so use no dropout. `each`, if given, is called for every number that was compared.
///
/// Use a collection and a graph of DType::f64: then errors are below 1e-7, unless the loss has a
/// kink nearby. In floats, steps are wider and errors below 1e-2. Numbers that are not finite are
/// skipped. Afterwards all parameters have their old values. Each number takes two computations of
/// the loss, so use a small model.
GradientDifference check_gradients(
    const ParameterCollection& model,
    const std::function<Expression(ComputationGraph& graph)>& loss_of,
    const std::function<void(const GradientDifference&)>& each = nullptr);

namespace detail {

/// The same for gradients that you have already. `loss` computes with the parameters as they are.
GradientDifference check_gradients(const ParameterCollection& model, const Gradients& gradients,
                                   const std::function<double()>& loss,
                                   const std::function<void(const GradientDifference&)>& each);

}  // namespace detail

}  // namespace dynet_like
