// Initial values of gates' weights and biases, with several gates in one matrix.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::nn {

/// Adds a matrix of `gates` blocks of `hidden` rows. Each block is initialised as a {hidden,
/// inputs} matrix of its own (Glorot and Bengio 2010).
inline Parameter add_gate_weights(ParameterCollection& model, unsigned gates, unsigned hidden,
                                  unsigned inputs, const std::string& name) {
  const float scale = std::sqrt(6.0f / static_cast<float>(hidden + inputs));
  return model.add_parameters({gates * hidden, inputs}, ParameterInitUniform(scale), name);
}

/// Adds a bias with a block of `hidden` elements for each value, filled with that value.
inline Parameter add_gate_bias(ParameterCollection& model, unsigned hidden,
                               const std::vector<float>& values, const std::string& name) {
  std::vector<float> bias;
  for (const float value : values) bias.insert(bias.end(), hidden, value);
  const auto size = static_cast<unsigned>(bias.size());
  return model.add_parameters({size}, ParameterInitFromVector(std::move(bias)), name);
}

}  // namespace dynet_like::nn
