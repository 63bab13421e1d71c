// Sums: over inputs, and along a dimension.
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/lines.h"

namespace dynet_like::detail::cuda {

namespace {

// The "items" of this launch are the items of all inputs, one input after the other.
template <bool average, class T>
__global__ void pass_to_inputs(Part part, Operand dy, std::size_t n, std::uint32_t inputs,
                               const Destination* dx) {
  Place place;
  if (!find_element(part, place)) return;
  const std::size_t item = place.item % n;
  const Target<T> target(dx[place.item / n], item);
  if (target.to == nullptr) return;
  target.put(sum_or_mean<average>(dy.at<T>(item)[place.at], inputs), place.at);
}

// x1 + x2 + ... from left to right; the average divides at the end.
template <bool average>
struct OverInputs {
  template <class T>
  __device__ static T value(Place here, const Operand* in, std::uint32_t inputs) {
    T sum = in[0].at<T>(here.item)[here.at];
    for (std::uint32_t j = 1; j < inputs; ++j) sum = sum + in[j].at<T>(here.item)[here.at];
    return sum_or_mean<average>(sum, inputs);
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    const auto inputs = static_cast<std::uint32_t>(call.type->inputs.size());
    launch_values<OverInputs, T>(call, commands_of(call).stage(call.in, inputs), inputs);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    Commands& commands = commands_of(call);
    const auto inputs = static_cast<std::uint32_t>(call.type->inputs.size());
    launch_elements(commands, inputs * call.n, call.type->output_size, pass_to_inputs<average, T>,
                    call.dy, call.n, inputs, commands.stage(call.dx, inputs));
  }
};

template <bool average>
struct AlongDimension {
  template <class T, unsigned size>
  __device__ static T reduce(const Team<size>& team, std::uint32_t n, Line<const T> x) {
    return sum_or_mean<average>(team.template sum<T>(n, [&](std::uint32_t k) { return x[k]; }), n);
  }
  template <class T>
  __device__ static T gradient(Place here, Lines lines, Operand dy) {
    return sum_or_mean<average>(dy.at<T>(here.item)[lines.line_of(here.at)], lines.n);
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_reductions<AlongDimension, T>(call);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<AlongDimension, T>(call, 0, lines_of(*call.type), call.dy);
  }
};

}  // namespace

std::vector<KernelEntry> reduction_kernels() {
  return {{"sum", kernels<OverInputs<false>>()},
          {"average", kernels<OverInputs<true>>()},
          {"sum_dim", kernels<AlongDimension<false>>()},
          {"mean_dim", kernels<AlongDimension<true>>()}};
}

}  // namespace dynet_like::detail::cuda
