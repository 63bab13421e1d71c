// Sums: over inputs, and along a dimension; norms.
#include <cmath>
#include <limits>

#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/teams.h"

namespace dynet_like::cuda {

namespace {

template <bool average, class T>
__device__ T sum_or_mean(T sum, std::uint32_t count) {
  return average ? sum / static_cast<T>(count) : sum;
}

// x1 + x2 + ... from left to right; the average divides at the end.
template <bool average, class T>
__global__ void add_inputs(Part part, const Operand* in, std::uint32_t inputs, T* out) {
  Place place;
  if (!find_element(part, place)) return;
  T sum = in[0].at<T>(place.item)[place.at];
  for (std::uint32_t j = 1; j < inputs; ++j) sum = sum + in[j].at<T>(place.item)[place.at];
  out[place.item * part.size + place.at] = sum_or_mean<average>(sum, inputs);
}

// The "items" of this launch are those of all inputs, one input after the other.
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
__global__ void reduce(Part part, Lines lines, Operand in, T* out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const T sum =
      team.template sum<T>(lines.n, [&](std::uint32_t k) { return x[lines.at(place.at, k)]; });
  if (team.rank == 0) {
    out[place.item * part.size + place.at] = sum_or_mean<average>(sum, lines.n);
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

// The root of the sum or mean of squares, some of which overflow or vanish: numbers are scaled by a
// power of 2, which is exact.
template <bool mean, unsigned size, class T, class Element>
__device__ T scaled_norm(const Team<size>& team, std::uint32_t n, const Element& element) {
  const T nans = team.template sum<T>(
      n, [&](std::uint32_t k) { return std::isnan(element(k)) ? element(k) : T(0); });
  if (std::isnan(nans)) return nans;
  const T largest =
      team.template largest<T>(n, [&](std::uint32_t k) { return std::abs(element(k)); });
  if (largest == 0 || std::isinf(largest)) return largest;
  const int exponent = std::ilogb(largest);
  const T sum = team.template sum<T>(n, [&](std::uint32_t k) {
    const T x = std::ldexp(element(k), -exponent);
    return x * x;
  });
  return std::ldexp(std::sqrt(sum_or_mean<mean>(sum, n)), exponent);
}

template <unsigned size, bool mean, class T>
__global__ void norm(Part part, Lines lines, Operand in, T* out) {
  constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  constexpr T kMost = std::numeric_limits<T>::max();
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const auto element = [&](std::uint32_t k) { return x[lines.at(place.at, k)]; };
  const T sum =
      team.template sum<T>(lines.n, [&](std::uint32_t k) { return element(k) * element(k); });
  const bool is_exact = sum >= kLeast && sum <= kMost;
  const T result = is_exact ? std::sqrt(sum_or_mean<mean>(sum, lines.n))
                            : scaled_norm<mean, size, T>(team, lines.n, element);
  if (team.rank == 0) out[place.item * part.size + place.at] = result;
}

// dx = x / y dy, of a mean divided by n; 0 where y is 0: no direction is steeper than another.
template <bool mean, class T>
__global__ void norm_backward(Part part, Lines lines, Operand in, Operand out, Operand dy,
                              Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const std::uint32_t line = lines.line_of(place.at);
  const T y = out.at<T>(place.item)[line], norm = T(0) < y ? y : y + T(1);
  const T part_of_dy = sum_or_mean<mean>(dy.at<T>(place.item)[line], lines.n);
  target.put(in.at<T>(place.item)[place.at] / norm * part_of_dy, place.at);
}

template <bool average, class T>
void launch_sum(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const std::size_t inputs = call.type->inputs.size();
  launch_elements(commands, call.n, call.type->output_size, add_inputs<average, T>,
                  commands.stage(call.in, inputs), static_cast<std::uint32_t>(inputs),
                  static_cast<T*>(call.out));
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
      [](auto size) { return reduce<size(), average, T>; }, call.in[0], static_cast<T*>(call.out));
}
template <bool average, class T>
void launch_reduce(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), spread<average, T>,
                  lines_of(*call.type), call.dy, call.dx[0]);
}

template <bool mean, class T>
void launch_norm(const ForwardCall& call) {
  launch_lines(
      commands_of(call), call.n, lines_of(*call.type),
      [](auto size) { return norm<size(), mean, T>; }, call.in[0], static_cast<T*>(call.out));
}
template <bool mean, class T>
void launch_norm(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), norm_backward<mean, T>,
                  lines_of(*call.type), call.in[0], call.out, call.dy, call.dx[0]);
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
template <bool mean>
Kernels of_norms() {
  return {{launch_norm<mean, float>, launch_norm<mean, double>},
          {launch_norm<mean, float>, launch_norm<mean, double>}};
}

}  // namespace

std::span<const KernelEntry> reduction_kernels() {
  static const KernelEntry table[] = {
      {"sum", of_inputs<false>()},     {"average", of_inputs<true>()},
      {"sum_dim", of_lines<false>()},  {"mean_dim", of_lines<true>()},
      {"norm_dim", of_norms<false>()}, {"rms_dim", of_norms<true>()}};
  return table;
}

}  // namespace dynet_like::cuda
