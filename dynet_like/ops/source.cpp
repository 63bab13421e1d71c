// The common parts of ops without inputs.
#include "dynet_like/ops/source.h"

namespace dynet_like::ops {

Op source(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.min_inputs = op.max_inputs = 0;
  op.gradient.needs = Needs::nothing;
  op.shape = [](std::span<const Dim>, std::span<const std::uint32_t> attributes) {
    Dim result;
    result.resize(static_cast<unsigned>(attributes.size() - 1));
    for (unsigned i = 0; i < result.nd; ++i) result.d[i] = attributes[i + 1];
    return result;
  };
  return op;
}

}  // namespace dynet_like::ops
