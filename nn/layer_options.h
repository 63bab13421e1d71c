// What the options of layers have in common, and what their constructors do with them.
#pragma once

#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::nn {

/// Of layers that have no other options.
struct LayerOptions {
  /// Of the layer's subcollection; if it is empty, the layer's own name, such as "lstm".
  std::string name = {};
};

/// Of recurrent layers on top of each other.
struct StackOptions {
  unsigned layers = 1;
  /// The rate between two layers, at least 0 and below 1.
  float dropout = 0;
  std::string name = {};
};

/// The subcollection of a layer, with the name of its options or else with its own.
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
