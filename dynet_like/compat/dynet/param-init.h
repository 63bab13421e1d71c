// DyNet's param-init.h: initial values of parameters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dynet/globals.h"
#include "dynet/tensor.h"
#include "dynet_like/params/initialisers.h"

namespace dynet {

/// The base class of a program's own initialisers.
struct ParameterInit : dynet_like::ParameterInit {
  /// For a table, `values` has all rows, along its last dimension.
  virtual void initialize_params(Tensor& values) const = 0;

  void initialize(const dynet_like::Tensor& values, dynet_like::Random&) const override {
    Tensor view = values;
    initialize_params(view);
  }
};

namespace detail {

/// An initialiser of the library, with the random numbers of the process.
template <class Library>
struct LibraryInit : ParameterInit {
  template <class... Arguments>
  explicit LibraryInit(Arguments&&... arguments) : init(std::forward<Arguments>(arguments)...) {}

  void initialize_params(Tensor& values) const override { init.initialize(values, random()); }

  Library init;
};

}  // namespace detail

struct ParameterInitNormal : detail::LibraryInit<dynet_like::ParameterInitNormal> {
  explicit ParameterInitNormal(float mean = 0.0f, float variance = 1.0f)
      : LibraryInit(mean, variance) {}
};
struct ParameterInitUniform : detail::LibraryInit<dynet_like::ParameterInitUniform> {
  explicit ParameterInitUniform(float scale) : LibraryInit(scale) {}
  ParameterInitUniform(float low, float high) : LibraryInit(low, high) {}
};
struct ParameterInitConst : detail::LibraryInit<dynet_like::ParameterInitConst> {
  explicit ParameterInitConst(float c) : LibraryInit(c) {}
};
struct ParameterInitGlorot : detail::LibraryInit<dynet_like::ParameterInitGlorot> {
  explicit ParameterInitGlorot(bool is_lookup = false, float gain = 1.0f)
      : LibraryInit(is_lookup, gain) {}
};
struct ParameterInitIdentity : detail::LibraryInit<dynet_like::ParameterInitIdentity> {};
struct ParameterInitSaxe : detail::LibraryInit<dynet_like::ParameterInitSaxe> {
  explicit ParameterInitSaxe(float gain = 1.0f) : LibraryInit(gain) {}
};
struct ParameterInitFromFile : detail::LibraryInit<dynet_like::ParameterInitFromFile> {
  explicit ParameterInitFromFile(const std::string& path) : LibraryInit(path) {}
};
struct ParameterInitFromVector : detail::LibraryInit<dynet_like::ParameterInitFromVector> {
  explicit ParameterInitFromVector(std::vector<float> values) : LibraryInit(std::move(values)) {}
};

}  // namespace dynet
