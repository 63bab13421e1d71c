// Ops of segments, which are ranges of columns of a matrix with any number of columns.
#pragma once

#include "dynet_like/device/cuda/elements.h"

namespace dynet_like::detail::cuda {

/// The segment of an item. Its integers, of which there are `count`, begin with the number of all
/// columns, the segment's first column and its end.
struct Segment {
  std::uint32_t begin, end;

  __device__ Segment(const std::uint32_t* integers, unsigned count, std::size_t item)
      : begin(integers[count * item + 1]), end(integers[count * item + 2]) {}
  __device__ bool has(std::size_t column) const { return column >= begin && column < end; }
  __device__ bool operator==(const Segment& other) const {
    return begin == other.begin && end == other.end;
  }
};

// The threads of all items that share a matrix also share its columns.
template <class Op, class T>
__global__ void segment_gradients(Part part, std::size_t n, Operand in, Operand dy,
                                  const std::uint32_t* integers, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const Run items =
      run_of(place.item, n, [&](std::size_t other) { return dx.items[other] == target.to; });
  const Target<T> first(dx, items.begin);
  const std::uint32_t columns = integers[Op::integers * items.begin];
  for (std::size_t c = place.item - items.begin; c < columns; c += items.end - items.begin) {
    const std::size_t at = c * part.size + place.at;
    first.put(Op::template gradient<T>(items, place.at, part.size, static_cast<std::uint32_t>(c),
                                       in, dy, integers),
              at);
  }
}

/// Every element of the gradient of a matrix is Op::gradient<T>(items, row, rows, column, in, dy,
/// integers); an item has Op::integers integers.
template <class Op, class T>
void launch_segment_gradients(const BackwardCall& call, const Operand& in) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->output_size, segment_gradients<Op, T>,
                  call.n, in, call.dy, call.integers, call.dx[0]);
}

}  // namespace dynet_like::detail::cuda
