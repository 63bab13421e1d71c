// Elementwise kernels: any formula over plain numbers, one thread per element. Ops with stretched
// dimensions of size 1 have kernels of their own, in stretched.h.
#pragma once

#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/stretched.h"

namespace dynet_like::detail::cuda {

template <class F, class T>
__global__ void elementwise_forward(Part part, Operand a, Operand b, const T* reals, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const auto read = [&](const Operand& operand) { return operand.at<T>(place.item)[place.at]; };
  output_at<T>(out, place.item)[place.at] = formulas::value_of<F>(
      read(a), F::inputs == 2 ? read(b) : T(0), F::reals == 1 ? reals[place.item] : T(0));
}

template <class F, class T>
__global__ void elementwise_backward(Part part, Operand a, Operand b, Operand out, Operand dy,
                                     const T* reals, Destination dx_0, Destination dx_1) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> to_0(dx_0, place.item), to_1(dx_1, place.item);
  if (to_0.to == nullptr && to_1.to == nullptr) return;
  const auto read = [&](const Operand& operand) { return operand.at<T>(place.item)[place.at]; };
  const Numbers<T> x{reads_inputs<F> ? read(a) : T(0),
                     reads_inputs<F> && F::inputs == 2 ? read(b) : T(0),
                     reads_output<F> ? read(out) : T(0), F::reals == 1 ? reals[place.item] : T(0)};
  const T dy_here = read(dy);
  if (to_0.to != nullptr) to_0.put(dy_here * slope<F>(0, x), place.at);
  if (to_1.to != nullptr) to_1.put(dy_here * slope<F>(1, x), place.at);
}

template <class F, class T>
void forward_elements(const ForwardCall& call) {
  if constexpr (F::inputs == 2) {
    if (stretches(*call.type)) return launch_stretched_forward<F, T>(call);
  }
  launch_elements(commands_of(call), call.n, call.type->output_size, elementwise_forward<F, T>,
                  call.in[0], F::inputs == 2 ? call.in[1] : Operand(),
                  static_cast<const T*>(call.reals), call.out);
}

template <class F, class T>
void backward_elements(const BackwardCall& call) {
  if constexpr (F::inputs == 2) {
    if (stretches(*call.type)) return launch_stretched_backward<F, T>(call);
  }
  const Destination none, dx_1 = F::inputs == 2 ? call.dx[1] : none;
  if (!call.dx[0].wanted() && !dx_1.wanted()) return;
  const auto input = [&](unsigned j) {
    return reads_inputs<F> && j < F::inputs ? call.in[j] : Operand();
  };
  launch_elements(commands_of(call), call.n, call.type->output_size, elementwise_backward<F, T>,
                  input(0), input(1), call.out, call.dy, static_cast<const T*>(call.reals),
                  call.dx[0], dx_1);
}

template <class F>
KernelEntry elementwise_entry() {
  return {F::name,
          {{forward_elements<F, float>, forward_elements<F, double>},
           {backward_elements<F, float>, backward_elements<F, double>}}};
}

/// The kernels of all ops in a list of formulas.
template <class Formulas>
std::vector<KernelEntry> elementwise_entries() {
  std::vector<KernelEntry> entries;
  Formulas::visit([&]<class F>() { entries.push_back(elementwise_entry<F>()); });
  return entries;
}

}  // namespace dynet_like::detail::cuda
