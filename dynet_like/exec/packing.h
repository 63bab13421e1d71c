// Packed copies of the shared matrices that products multiply with.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Which matrix: input j of nodes of this type, a value of the node with this identity.
struct SharedMatrix {
  const NodeType* type = nullptr;
  unsigned input = 0;
  const Value* value = nullptr;
  Identity producer = 0;
};

/// Input j of nodes of this type, as one of them has it.
SharedMatrix shared_matrix(const RunState& run, const NodeType& type, NodeRef example, unsigned j);

/// The packed matrix for products with n items, or its transpose; null if there is none (yet).
const void* packed_matrix(RunState& run, const SharedMatrix& matrix, std::size_t n);
const void* packed_transpose(RunState& run, const SharedMatrix& matrix);
}  // namespace dynet_like::detail
