// Packed copies of the shared matrices that products multiply with.
#pragma once

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// The packed matrix for input j of nodes of this type, for products with n items, or its
/// transpose; null if there is none (yet).
const void* packed_matrix(RunState& run, const NodeType& type, unsigned j,
                          const SharedArgument& argument, std::size_t n);
const void* packed_transpose(RunState& run, const NodeType& type, unsigned j,
                             const SharedArgument& argument);

}  // namespace dynet_like::detail
