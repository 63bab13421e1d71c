// Backward calls whose items share destinations: one kernel sums their contributions.
#pragma once

#include <cstddef>

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/op.h"

namespace dynet_like::detail {

/// Whether item i contributes to the same gradient of input j as the item before it.
inline bool shares_destination(const BackwardCall& call, unsigned j, std::size_t i) {
  const Destination& dx = call.dx[j];
  return i > 0 && call.type->op->is_open(j) && dx.wanted() && dx.items[i] == dx.items[i - 1];
}

/// Whether the contribution of item i to input j is added to what the destination holds, or to what
/// the previous item wrote there.
inline bool adds_to_destination(const BackwardCall& call, unsigned j, std::size_t i) {
  return call.dx[j].add[i] != 0 || shares_destination(call, j, i);
}

/// Whether item i shares any input's destination with the previous item: they must stay together.
inline bool shares_a_destination(const BackwardCall& call, std::size_t i) {
  if (call.type->op->batching.open_inputs == 0) return false;
  for (unsigned j = 0; j < call.type->inputs.size(); ++j) {
    if (shares_destination(call, j, i)) return true;
  }
  return false;
}

}  // namespace dynet_like::detail
