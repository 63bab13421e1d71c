// The shape rule and the cost of all elementwise ops.
#include "dynet_like/ops/elementwise.h"

namespace dynet_like::ops {

Dim broadcast_shape(std::string_view op, std::span<const Dim> inputs) {
  Dim result = inputs[0];
  for (const Dim& dim : inputs.subspan(1)) {
    if (dim.nd > result.nd) result.resize(dim.nd);
    for (unsigned i = 0; i < dim.nd; ++i) {
      if (result.d[i] == 1) {
        result.d[i] = dim.d[i];
      } else if (dim.d[i] != 1 && dim.d[i] != result.d[i]) {
        throw_shape_error(op, "equal shapes, up to dimensions of size 1", inputs);
      }
    }
  }
  return result;
}

SharedGradient sum_if_same_shape(const Signature& type, unsigned input) {
  return type.inputs[input].size() == type.output_size ? SharedGradient::sum
                                                       : SharedGradient::dense;
}

double elementwise_cost(const Signature& type) { return 4.0 * type.output_size; }

}  // namespace dynet_like::ops
