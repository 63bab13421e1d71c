// Ops along a dimension: a team of threads for each line.
#pragma once

#include "dynet_like/device/cuda/teams.h"

namespace dynet_like::detail::cuda {

/// The elements of a line.
template <class T>
struct Line {
  T* first;
  std::uint32_t stride;

  __device__ T& operator[](std::uint32_t k) const { return first[std::size_t{k} * stride]; }
};
template <class T>
__device__ Line<T> line_in(T* item, const Lines& lines, std::uint32_t line) {
  return {item + lines.at(line, 0), lines.inner};
}

template <unsigned size, class Op, class T>
__global__ void reduced_lines(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Team<size> team;
  const T result =
      Op::template reduce<T>(team, lines.n, line_in(in.at<T>(place.item), lines, place.at));
  if (team.rank == 0) output_at<T>(out, place.item)[place.at] = result;
}
template <unsigned size, class Op, class T>
__global__ void mapped_lines(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  Op::template map<T>(Team<size>(), lines.n, line_in(in.at<T>(place.item), lines, place.at),
                      line_in(output_at<T>(out, place.item), lines, place.at));
}
template <unsigned size, class Op, class T>
__global__ void line_gradients(Part part, Lines lines, Operand numbers, Operand dy,
                               Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const auto put = [&](T result, std::uint32_t k) { target.put(result, lines.at(place.at, k)); };
  const Line<const T> line = line_in(numbers.at<T>(place.item), lines, place.at);
  const T* const dy_of_item = dy.at<T>(place.item);
  if constexpr (Op::is_reduction) {
    Op::template gradient<T>(Team<size>(), lines.n, line, dy_of_item[place.at], put);
  } else {
    Op::template gradient<T>(Team<size>(), lines.n, line, line_in(dy_of_item, lines, place.at),
                             put);
  }
}

/// Every line of the input has one result, Op::reduce<T>(team, n, x).
template <class Op, class T>
void launch_reductions(const ForwardCall& call) {
  launch_lines(
      commands_of(call), call.n, lines_of(*call.type),
      [](auto size) { return reduced_lines<size(), Op, T>; }, call.in[0], call.out);
}
/// Op::map<T>(team, n, x, y) writes every line of the output.
template <class Op, class T>
void launch_maps(const ForwardCall& call) {
  launch_lines(
      commands_of(call), call.n, lines_of(*call.type),
      [](auto size) { return mapped_lines<size(), Op, T>; }, call.in[0], call.out);
}
/// If the gradient is wanted, Op::gradient<T>(team, n, line, dy, put) calls put(result, k) for the
/// elements of every line of it. `line` is that of `numbers`: the input, or the output. dy is one
/// number of a reduction, otherwise a line.
template <class Op, class T>
void launch_line_gradients(const BackwardCall& call, const Operand& numbers) {
  if (!call.dx[0].wanted()) return;
  launch_lines(
      commands_of(call), call.n, lines_of(*call.type),
      [](auto size) { return line_gradients<size(), Op, T>; }, numbers, call.dy, call.dx[0]);
}

}  // namespace dynet_like::detail::cuda
