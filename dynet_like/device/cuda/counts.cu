// Kernels that compare with counts, in double throughout: large terms cancel out.
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/threads.h"
#include "dynet_like/ops/gamma_function.h"

namespace dynet_like::cuda {

namespace {

template <class T>
__global__ void poisson_forward(Part part, Operand in, const std::uint32_t* counts, T* out) {
  Place place;
  if (!find_element(part, place)) return;
  const double x = static_cast<double>(*in.at<T>(place.item)), count = counts[place.item];
  const double rate = std::exp(x);  // where it is infinite, nothing makes up for it
  const bool is_alone = count == 0 || std::isinf(rate);
  const double rest = is_alone ? 0 : formulas::special::log_gamma(count + 1) - count * x;
  out[place.item] = static_cast<T>(rate + rest);
}

template <class T>
__global__ void poisson_backward(Part part, Operand in, Operand dy, const std::uint32_t* counts,
                                 Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const double x = static_cast<double>(*in.at<T>(place.item)), count = counts[place.item];
  target.put(*dy.at<T>(place.item) * static_cast<T>(std::exp(x) - count), 0);
}

template <class T>
void forward(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, 1, poisson_forward<T>, call.in[0], call.integers,
                  static_cast<T*>(call.out));
}
template <class T>
void backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, 1, poisson_backward<T>, call.in[0], call.dy,
                  call.integers, call.dx[0]);
}

}  // namespace

std::span<const KernelEntry> count_kernels() {
  static const KernelEntry table[] = {
      {"poisson_loss", {{forward<float>, forward<double>}, {backward<float>, backward<double>}}}};
  return table;
}

}  // namespace dynet_like::cuda
