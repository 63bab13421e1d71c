// Options that layers share, and helpers for their constructors.
#pragma once

#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::nn {

/// Options of layers without other options.
struct LayerOptions {
  /// The name of the layer's subcollection; if empty, a default such as "lstm".
  std::string name = {};
};

/// Options of stacked recurrent layers.
struct StackOptions {
  unsigned layers = 1;
  /// The dropout rate between two layers, at least 0 and below 1.
  float dropout = 0;
  std::string name = {};
};

/// Adds the subcollection of a layer, under the name in its options or else `own_name`.
inline ParameterCollection add_layer(ParameterCollection& model, const std::string& name,
                                     const std::string& own_name) {
  return model.add_subcollection(name.empty() ? own_name : name);
}

/// The value of an option that has no default. Throws UsageError for 0.
inline unsigned required(const char* layer, const char* option, unsigned value) {
  if (value > 0) return value;
  throw UsageError('[' + std::string(layer) + "] need the option `" + option +
                   "`, at least 1; got 0");
}

}  // namespace dynet_like::nn
