// Makes an op's launchers, forward and backward, from a class with launch<T>(call).
#pragma once

#include "dynet_like/device/cuda/commands.h"

namespace dynet_like::detail::cuda {

// The backward launcher does nothing if no gradient is wanted.
template <class Launcher, class T>
void forward(const ForwardCall& call) {
  Launcher::template launch<T>(call);
}
template <class Launcher, class T>
void backward(const BackwardCall& call) {
  if (call.dx[0].wanted()) Launcher::template launch<T>(call);
}
template <class Launcher>
Kernels kernels() {
  return {{forward<Launcher, float>, forward<Launcher, double>},
          {backward<Launcher, float>, backward<Launcher, double>}};
}

}  // namespace dynet_like::detail::cuda
