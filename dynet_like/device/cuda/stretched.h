// Elementwise kernels of two inputs, one of which has stretched dimensions of size 1. Its gradient
// is a sum over the elements that it was stretched to, in an order that depends on the shapes.
#pragma once

#include "dynet_like/device/cuda/teams.h"
#include "dynet_like/ops/elementwise.h"

namespace dynet_like::detail::cuda {

using formulas::reads_inputs, formulas::reads_output;

/// What a slope is computed from; numbers that the formula does not need are 0.
template <class T>
struct Numbers {
  T a, b, y, real;
};
template <class F, class T>
__device__ T slope(unsigned input, const Numbers<T>& x) {
  if constexpr (F::inputs == 2) {
    if (input == 1) return formulas::slope_of<F, 1>(x.a, x.b, x.y, x.real);
  }
  return formulas::slope_of<F, 0>(x.a, x.b, x.y, x.real);
}

/// Whether an input has fewer elements than the output.
inline bool stretches(const Signature& type) {
  return type.inputs[0].size() != type.output_size || type.inputs[1].size() != type.output_size;
}

/// The offsets of corresponding elements of the output and of both inputs.
struct Offsets {
  std::uint32_t out = 0, a = 0, b = 0;
};

/// Some dimensions of the output, and their strides. Neighbours with one pattern are merged.
struct Walk {
  std::uint32_t dimensions = 0, count = 1;  ///< count: the number of steps
  std::uint32_t size[Dim::kMaxDimensions] = {};
  Offsets stride[Dim::kMaxDimensions] = {};

  void add(std::uint32_t dimension, const Offsets& step) {
    count *= dimension;
    if (dimensions > 0) {
      const std::uint32_t last = size[dimensions - 1];
      const Offsets& before = stride[dimensions - 1];
      if (step.out == last * before.out && step.a == last * before.a && step.b == last * before.b) {
        size[dimensions - 1] *= dimension;
        return;
      }
    }
    size[dimensions] = dimension;
    stride[dimensions++] = step;
  }

  __device__ Offsets at(std::uint32_t step) const {
    Offsets sum;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const bool is_last = d + 1 == dimensions;
      const std::uint32_t i = is_last ? step : step % size[d];
      if (!is_last) step /= size[d];
      sum.out += i * stride[d].out;
      sum.a += i * stride[d].a;
      sum.b += i * stride[d].b;
    }
    return sum;
  }
};

/// The dimensions along which input `j` advances with the output, and those along which it stays.
/// For a forward call all of them advance. `side_by_side`: neighbouring elements of the input whose
/// sums are neighbours, too.
struct Walks {
  Walk kept, summed;
  std::uint32_t side_by_side = 1;

  enum Input { a, b, all };
  Walks(const Signature& type, Input j) {
    Offsets stride{1, 1, 1};
    for (unsigned d = 0; d < type.output.nd; ++d) {
      const std::uint32_t size = type.output.d[d];
      const std::uint32_t size_a = type.inputs[0][d], size_b = type.inputs[1][d];
      const Offsets step{stride.out, size_a == 1 ? 0 : stride.a, size_b == 1 ? 0 : stride.b};
      stride = {stride.out * size, stride.a * size_a, stride.b * size_b};
      if (size == 1) continue;
      const bool keeps = j == all || (j == a ? size_a : size_b) != 1;
      if (keeps && summed.dimensions == 0) side_by_side *= size;
      (keeps ? kept : summed).add(size, step);
    }
  }
};

template <class F, class T>
__global__ void stretched_forward(Part part, const Walks* walks, Operand a, Operand b, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const Offsets at = walks->kept.at(place.at);
  output_at<T>(out, place.item)[place.at] =
      F::value(a.at<T>(place.item)[at.a], b.at<T>(place.item)[at.b]);
}

template <unsigned size, class F, class T>
__global__ void stretched_backward(Part part, const Walks* walks, unsigned input, Operand a,
                                   Operand b, Operand out, Operand dy, Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const Walk &kept = walks->kept, &summed = walks->summed;
  const Offsets first = kept.at(place.at);
  const Team<size> team;
  const T sum = team.template sum<T>(summed.count, [&](std::uint32_t k) {
    const Offsets step = summed.at(k);
    const std::uint32_t at_out = first.out + step.out;
    const Numbers<T> x{reads_inputs<F> ? a.at<T>(place.item)[first.a + step.a] : T(0),
                       reads_inputs<F> ? b.at<T>(place.item)[first.b + step.b] : T(0),
                       reads_output<F> ? out.at<T>(place.item)[at_out] : T(0), T(0)};
    return dy.at<T>(place.item)[at_out] * slope<F>(input, x);
  });
  if (team.rank == 0) target.put(sum, place.at);
}

template <class F, class T>
void launch_stretched_forward(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const Walks walks(*call.type, Walks::all);
  launch_elements(commands, call.n, call.type->output_size, stretched_forward<F, T>,
                  commands.stage(&walks, 1), call.in[0], call.in[1], call.out);
}

template <class F, class T>
void launch_stretched_backward(const BackwardCall& call) {
  Commands& commands = commands_of(call);
  for (unsigned j = 0; j < 2; ++j) {
    if (!call.dx[j].wanted()) continue;
    const Walks walks(*call.type, j == 0 ? Walks::a : Walks::b);
    const Operand none;
    launch_teams(
        commands, call.n, call.type->inputs[j].size(),
        team_for(walks.summed.count, walks.side_by_side),
        [](auto size) { return stretched_backward<size(), F, T>; }, commands.stage(&walks, 1), j,
        reads_inputs<F> ? call.in[0] : none, reads_inputs<F> ? call.in[1] : none, call.out, call.dy,
        call.dx[j]);
  }
}

}  // namespace dynet_like::detail::cuda
