// The floating-point operations of products, counted as usual.
#pragma once

#include "dynet_like/tape/type_table.h"

namespace dynet_like::detail {

/// For one item: two operations for every element of a matrix and column that it is multiplied
/// with.
inline double product_flops(const NodeType& type) {
  double flops = 0;
  for (std::size_t j = 0; j + 1 < type.inputs; ++j) {
    if (type.shared_gradients[j] != SharedGradient::outer_product) continue;
    flops += 2.0 * static_cast<double>(type.signature.inputs[j].size()) *
             type.signature.inputs[j + 1].cols();
  }
  return flops;
}

}  // namespace dynet_like::detail
