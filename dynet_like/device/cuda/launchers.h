// Makes an op's launchers from a class with launch<T>(call), for forward calls and, if the op has
// inputs, for backward calls.
#pragma once

#include "dynet_like/device/cuda/commands.h"

namespace dynet_like::detail::cuda {

template <class Op>
Kernels kernels() {
  Kernels kernels{{Op::template launch<float>, Op::template launch<double>}, {}};
  if constexpr (requires(const BackwardCall& call) { Op::template launch<float>(call); }) {
    kernels.backward[0] = Op::template launch<float>;
    kernels.backward[1] = Op::template launch<double>;
  }
  return kernels;
}

}  // namespace dynet_like::detail::cuda
