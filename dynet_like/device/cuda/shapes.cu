// Kernels of ops that move elements: copies, concatenation, ranges, transposition.
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/pieces.h"

namespace dynet_like::detail::cuda {

namespace {

struct Identity {
  template <class T>
  __device__ static T value(Place here, Operand in) {
    return in.at<T>(here.item)[here.at];
  }
  template <class T>
  __device__ static T gradient(Place here, Operand dy) {
    return value<T>(here, dy);
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Identity, T>(call, call.in[0]);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<Identity, T>(call, 0, call.dy);
  }
};

// --------------------------------------------------------------------------------- concatenate

// Of each `period` consecutive elements of the output, an input has those from the beginning of its
// piece to that of the next one.
template <class Side>
struct Joined {
  const Piece<Side>* pieces;
  unsigned inputs, period;

  // Where an element of the output lies in its input.
  struct Found {
    Side side;
    unsigned at;
  };
  __device__ Found find(unsigned element) const {
    const unsigned at = element % period, j = find_piece(pieces, inputs, at);
    const auto begin = static_cast<unsigned>(pieces[j].begin);
    const unsigned end = j + 1 == inputs ? period : static_cast<unsigned>(pieces[j + 1].begin);
    return {pieces[j].thing, element / period * (end - begin) + at - begin};
  }
};
template <class Side>
Joined<Side> stage_joined(Commands& commands, const Signature& type, const Side* sides) {
  const unsigned d = type.attributes[0];
  std::vector<Piece<Side>> pieces;
  std::size_t period = 0;
  for (std::size_t j = 0; j < type.inputs.size(); ++j) {
    pieces.push_back({sides[j], period});
    period += Axis(type.output, d).inner * type.inputs[j][d];
  }
  return {commands.stage(pieces.data(), pieces.size()), static_cast<unsigned>(pieces.size()),
          static_cast<unsigned>(period)};
}

template <class T>
__global__ void separated_gradients(Part part, Joined<Destination> joined, Operand dy) {
  Place place;
  if (!find_element(part, place)) return;
  const auto found = joined.find(place.at);
  const Target<T> target(found.side, place.item);
  if (target.to != nullptr) target.put(dy.at<T>(place.item)[place.at], found.at);
}

struct Concatenate {
  template <class T>
  __device__ static T value(Place here, Joined<Operand> joined) {
    const auto found = joined.find(here.at);
    return found.side.template at<T>(here.item)[found.at];
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Concatenate, T>(call, stage_joined(commands_of(call), *call.type, call.in));
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    Commands& commands = commands_of(call);
    launch_elements(commands, call.n, call.type->output_size, separated_gradients<T>,
                    stage_joined(commands, *call.type, call.dx), call.dy);
  }
};

// ---------------------------------------------------------------------------------- pick_range

// A range of `length` elements out of every `stride` elements of the input.
struct Range {
  unsigned inner, length, stride;

  explicit Range(const Signature& type) {
    const Axis axis(type.inputs[0], type.attributes[0]);
    inner = static_cast<unsigned>(axis.inner);
    length = inner * type.attributes[1];
    stride = static_cast<unsigned>(axis.inner * axis.n);
  }
};

struct PickRange {
  template <class T>
  __device__ static T value(Place here, Range range, Operand in, const std::uint32_t* starts) {
    const unsigned first = here.at / range.length * range.stride + range.inner * starts[here.item];
    return in.at<T>(here.item)[first + here.at % range.length];
  }
  // The zeros of a contribution are added, too, because -0 + 0 is 0.
  template <class T>
  __device__ static T gradient(Place here, Range range, Operand dy, const std::uint32_t* starts) {
    // Before the range, the unsigned difference wraps around and is too large as well.
    const unsigned at = here.at % range.stride - range.inner * starts[here.item];
    if (at >= range.length) return 0;
    return T(0) + dy.at<T>(here.item)[here.at / range.stride * range.length + at];
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<PickRange, T>(call, Range(*call.type), call.in[0], call.integers);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<PickRange, T>(call, 0, Range(*call.type), call.dy, call.integers);
  }
};

// ----------------------------------------------------------------------------------- transpose

// For every dimension of the output: its size, and the stride of its elements in the input.
struct Order {
  unsigned dimensions = 0;
  unsigned size[Dim::kMaxDimensions] = {}, stride[Dim::kMaxDimensions] = {};

  explicit Order(const Signature& type) : dimensions(type.output.nd) {
    for (unsigned i = 0; i < dimensions; ++i) {
      size[i] = type.output.d[i];
      stride[i] = 1;
      for (unsigned d = 0; d < type.attributes[i]; ++d) stride[i] *= type.inputs[0][d];
    }
  }
  /// The index in the input of an element of the output.
  __device__ unsigned source(unsigned element) const {
    unsigned from = 0;
    for (unsigned i = 0; i < Dim::kMaxDimensions; ++i) {  // constant: sizes stay in place
      if (i == dimensions) break;
      from += element % size[i] * stride[i];
      element /= size[i];
    }
    return from;
  }
};

template <class T>
__global__ void transposed_gradients(Part part, Order order, Operand dy, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to != nullptr) target.put(dy.at<T>(place.item)[place.at], order.source(place.at));
}

struct Transpose {
  template <class T>
  __device__ static T value(Place here, Order order, Operand in) {
    return in.at<T>(here.item)[order.source(here.at)];
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Transpose, T>(call, Order(*call.type), call.in[0]);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    if (!call.dx[0].wanted()) return;
    launch_elements(commands_of(call), call.n, call.type->output_size, transposed_gradients<T>,
                    Order(*call.type), call.dy, call.dx[0]);
  }
};

}  // namespace

std::vector<KernelEntry> shape_kernels() {
  return {{"identity", kernels<Identity>()},
          {"concatenate", kernels<Concatenate>()},
          {"pick_range", kernels<PickRange>()},
          {"transpose", kernels<Transpose>()}};
}

}  // namespace dynet_like::detail::cuda
