// Sums: over inputs, and along a dimension.
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/teams.h"

namespace dynet_like::detail::cuda {

namespace {

// x1 + x2 + ... from left to right; the average divides at the end.
template <bool average, class T>
__global__ void add_inputs(Part part, const Operand* in, std::uint32_t inputs, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  T sum = in[0].at<T>(place.item)[place.at];
  for (std::uint32_t j = 1; j < inputs; ++j) sum = sum + in[j].at<T>(place.item)[place.at];
  output_at<T>(out, place.item)[place.at] = sum_or_mean<average>(sum, inputs);
}

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

template <unsigned size, bool average, class T>
__global__ void reduce(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const T sum =
      team.template sum<T>(lines.n, [&](std::uint32_t k) { return x[lines.at(place.at, k)]; });
  if (team.rank == 0) {
    output_at<T>(out, place.item)[place.at] = sum_or_mean<average>(sum, lines.n);
  }
}

template <bool average, class T>
__global__ void spread(Part part, Lines lines, Operand dy, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const T part_of_dy = dy.at<T>(place.item)[lines.line_of(place.at)];
  target.put(sum_or_mean<average>(part_of_dy, lines.n), place.at);
}

template <bool average, class T>
void launch_sum(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const std::size_t inputs = call.type->inputs.size();
  launch_elements(commands, call.n, call.type->output_size, add_inputs<average, T>,
                  commands.stage(call.in, inputs), static_cast<std::uint32_t>(inputs), call.out);
}
template <bool average, class T>
void launch_sum(const BackwardCall& call) {
  Commands& commands = commands_of(call);
  const std::size_t inputs = call.type->inputs.size();
  launch_elements(commands, inputs * call.n, call.type->output_size, pass_to_inputs<average, T>,
                  call.dy, call.n, static_cast<std::uint32_t>(inputs),
                  commands.stage(call.dx, inputs));
}

template <bool average, class T>
void launch_reduce(const ForwardCall& call) {
  launch_lines(
      commands_of(call), call.n, lines_of(*call.type),
      [](auto size) { return reduce<size(), average, T>; }, call.in[0], call.out);
}
template <bool average, class T>
void launch_reduce(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), spread<average, T>,
                  lines_of(*call.type), call.dy, call.dx[0]);
}

template <bool average>
Kernels of_inputs() {
  return {{launch_sum<average, float>, launch_sum<average, double>},
          {launch_sum<average, float>, launch_sum<average, double>}};
}
template <bool average>
Kernels of_lines() {
  return {{launch_reduce<average, float>, launch_reduce<average, double>},
          {launch_reduce<average, float>, launch_reduce<average, double>}};
}
}  // namespace

std::span<const KernelEntry> reduction_kernels() {
  static const KernelEntry table[] = {{"sum", of_inputs<false>()},
                                      {"average", of_inputs<true>()},
                                      {"sum_dim", of_lines<false>()},
                                      {"mean_dim", of_lines<true>()}};
  return table;
}

}  // namespace dynet_like::detail::cuda
