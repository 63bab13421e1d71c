// Ops whose results, or whose gradients, are functions of one element's place: a thread for each.
#pragma once

#include "dynet_like/device/cuda/threads.h"

namespace dynet_like::detail::cuda {

template <class Op, class T, class... Arguments>
__global__ void element_values(Part part, Output out, Arguments... arguments) {
  Place place;
  if (!find_element(part, place)) return;
  output_at<T>(out, place.item)[place.at] = Op::template value<T>(place, arguments...);
}
template <class Op, class T, class... Arguments>
__global__ void element_gradients(Part part, Destination dx, Arguments... arguments) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  target.put(Op::template gradient<T>(place, arguments...), place.at);
}

/// Every element of the output is Op::value<T>(place, arguments...).
template <class Op, class T, class... Arguments>
void launch_values(const ForwardCall& call, const Arguments&... arguments) {
  void (*const kernel)(Part, Output, Arguments...) = element_values<Op, T>;
  launch_elements(commands_of(call), call.n, call.type->output_size, kernel, call.out,
                  arguments...);
}
/// Every element of the gradient of input j, if that is wanted, is Op::gradient<T>(place,
/// arguments...).
template <class Op, class T, class... Arguments>
void launch_gradients(const BackwardCall& call, std::size_t j, const Arguments&... arguments) {
  if (!call.dx[j].wanted()) return;
  void (*const kernel)(Part, Destination, Arguments...) = element_gradients<Op, T>;
  launch_elements(commands_of(call), call.n, call.type->inputs[j].size(), kernel, call.dx[j],
                  arguments...);
}

}  // namespace dynet_like::detail::cuda
