// DyNet's shadow-params.h: memory of a program's own for every parameter of a collection.
#pragma once

#include <vector>

#include "dynet/model.h"

namespace dynet {

/// As many numbers as the parameter has, zero at first.
struct ShadowParameters {
  explicit ShadowParameters(const ParameterStorage& p) : h(p.dim) {}

  Tensor h;
};

/// The same for a table, and its rows as views.
struct ShadowLookupParameters {
  explicit ShadowLookupParameters(const LookupParameterStorage& table);

  Tensor all_h;
  std::vector<Tensor> h;
};

/// Adds those of the parameters or tables of a collection from number `allocated` on. Returns how
/// many there are.
unsigned allocate_shadow_parameters(const ParameterCollection& model, unsigned allocated,
                                    std::vector<ShadowParameters>& target);
unsigned allocate_shadow_lookup_parameters(const ParameterCollection& model, unsigned allocated,
                                           std::vector<ShadowLookupParameters>& target);

}  // namespace dynet
