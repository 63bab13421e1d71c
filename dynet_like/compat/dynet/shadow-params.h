// DyNet's shadow-params.h: memory for a program's own use, for every parameter of a collection.
#pragma once

#include <vector>

#include "dynet/model.h"

namespace dynet {

/// As many numbers as the parameter has, initially zero.
struct ShadowParameters {
  explicit ShadowParameters(const ParameterStorage& p) : h(p.dim) {}

  Tensor h;
};

/// The same for a table; its rows are views of it.
struct ShadowLookupParameters {
  explicit ShadowLookupParameters(const LookupParameterStorage& table);

  Tensor all_h;
  std::vector<Tensor> h;
};

/// Adds entries for the collection's parameters or tables from number `allocated` on. Returns their
/// total number.
unsigned allocate_shadow_parameters(const ParameterCollection& model, unsigned allocated,
                                    std::vector<ShadowParameters>& target);
unsigned allocate_shadow_lookup_parameters(const ParameterCollection& model, unsigned allocated,
                                           std::vector<ShadowLookupParameters>& target);

}  // namespace dynet
