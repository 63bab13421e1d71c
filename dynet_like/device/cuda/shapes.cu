// Kernels of ops that move elements: copies, concatenation, ranges, transposition.
#include "dynet_like/device/cuda/items.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

// ------------------------------------------------------------------------------------ identity

template <class T>
__global__ void copies(std::size_t n, unsigned size, Operand in, Output out) {
  const auto [item, element] = item_element(size);
  if (item < n) output_at<T>(out, item)[element] = in.at<T>(item)[element];
}
template <class T>
void identity_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  launch_each(commands_of(call), call.n * size, copies<T>, call.n, size, call.in[0], call.out);
}

template <class T>
__global__ void copied_gradients(std::size_t n, unsigned size, Operand dy, Destination dx) {
  const auto [item, element] = item_element(size);
  if (item >= n) return;
  T* const to = dx.at<T>(item);
  if (to != nullptr) put(dy.at<T>(item)[element], to + element, dx.add[item] != 0);
}
template <class T>
void identity_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  const std::size_t size = call.type->output_size;
  launch_each(commands_of(call), call.n * size, copied_gradients<T>, call.n, size, call.dy,
              call.dx[0]);
}

// --------------------------------------------------------------------------------- concatenate

// Of each `block` consecutive elements of the output, an input has those from `begin` to the
// `begin` of the next input.
template <class Side>
struct Piece {
  Side side;
  unsigned begin = 0;
};

// The pieces of all inputs, followed by an end marker.
template <class Side>
std::vector<Piece<Side>> pieces_of(const Signature& type, const Side* sides) {
  const unsigned d = type.attributes[0];
  const auto inner = static_cast<unsigned>(Axis(type.output, d).inner);
  std::vector<Piece<Side>> pieces(type.inputs.size() + 1);
  for (std::size_t j = 0; j < type.inputs.size(); ++j) {
    pieces[j].side = sides[j];
    pieces[j + 1].begin = pieces[j].begin + inner * type.inputs[j][d];
  }
  return pieces;
}

// Finds the piece that has an element of a block, by bisection.
template <class Side>
__device__ unsigned find_piece(const Piece<Side>* pieces, unsigned count, unsigned at) {
  unsigned first = 0;
  for (unsigned end = count; end - first > 1;) {
    const unsigned middle = (first + end) / 2;
    if (pieces[middle].begin <= at) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return first;
}

template <class T>
__global__ void concatenated(std::size_t n, unsigned size, const Piece<Operand>* pieces,
                             unsigned count, Output out) {
  const auto [item, element] = item_element(size);
  if (item >= n) return;
  const unsigned block = pieces[count].begin, at = element % block;
  const unsigned j = find_piece(pieces, count, at);
  const unsigned begin = pieces[j].begin, length = pieces[j + 1].begin - begin;
  output_at<T>(out, item)[element] =
      pieces[j].side.template at<T>(item)[element / block * length + at - begin];
}
template <class T>
void concatenate_forward(const ForwardCall& call) {
  const std::vector<Piece<Operand>> pieces = pieces_of(*call.type, call.in);
  const std::size_t size = call.type->output_size;
  Commands& commands = commands_of(call);
  launch_each(commands, call.n * size, concatenated<T>, call.n, size,
              commands.stage(pieces.data(), pieces.size()), call.type->inputs.size(), call.out);
}

template <class T>
__global__ void separated_gradients(std::size_t n, unsigned size, const Piece<Destination>* pieces,
                                    unsigned count, Operand dy) {
  const auto [item, element] = item_element(size);
  if (item >= n) return;
  const unsigned block = pieces[count].begin, at = element % block;
  const unsigned j = find_piece(pieces, count, at);
  const unsigned begin = pieces[j].begin, length = pieces[j + 1].begin - begin;
  const Destination& dx = pieces[j].side;
  if (!dx.wanted()) return;
  T* const to = dx.at<T>(item);
  if (to == nullptr) return;
  put(dy.at<T>(item)[element], to + (element / block * length + at - begin), dx.add[item] != 0);
}
template <class T>
void concatenate_backward(const BackwardCall& call) {
  const std::vector<Piece<Destination>> pieces = pieces_of(*call.type, call.dx);
  const std::size_t size = call.type->output_size;
  Commands& commands = commands_of(call);
  launch_each(commands, call.n * size, separated_gradients<T>, call.n, size,
              commands.stage(pieces.data(), pieces.size()), call.type->inputs.size(), call.dy);
}

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

template <class T>
__global__ void ranges(std::size_t n, unsigned size, Range range, Operand in,
                       const std::uint32_t* starts, Output out) {
  const auto [item, element] = item_element(size);
  if (item >= n) return;
  output_at<T>(out, item)[element] =
      in.at<T>(item)[element / range.length * range.stride + range.inner * starts[item] +
                     element % range.length];
}
template <class T>
void pick_range_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  launch_each(commands_of(call), call.n * size, ranges<T>, call.n, size, Range(*call.type),
              call.in[0], call.integers, call.out);
}

// The zeros of a contribution are added, too, because -0 + 0 is 0.
template <class T>
__global__ void range_gradients(std::size_t n, unsigned size, Range range, Operand dy,
                                const std::uint32_t* starts, Destination dx) {
  const auto [item, element] = item_element(size);
  if (item >= n) return;
  T* const to = dx.at<T>(item);
  if (to == nullptr) return;
  // Before the range, the unsigned difference wraps around and is too large as well.
  const unsigned at = element % range.stride - range.inner * starts[item];
  T result = 0;
  if (at < range.length) {
    result = result + dy.at<T>(item)[element / range.stride * range.length + at];
  }
  put(result, to + element, dx.add[item] != 0);
}
template <class T>
void pick_range_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  const unsigned size = call.type->inputs[0].size();
  launch_each(commands_of(call), call.n * size, range_gradients<T>, call.n, size, Range(*call.type),
              call.dy, call.integers, call.dx[0]);
}

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
__global__ void transposed(std::size_t n, unsigned size, Order order, Operand in, Output out) {
  const auto [item, element] = item_element(size);
  if (item < n) output_at<T>(out, item)[element] = in.at<T>(item)[order.source(element)];
}
template <class T>
void transpose_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  launch_each(commands_of(call), call.n * size, transposed<T>, call.n, size, Order(*call.type),
              call.in[0], call.out);
}

template <class T>
__global__ void transposed_gradients(std::size_t n, unsigned size, Order order, Operand dy,
                                     Destination dx) {
  const auto [item, element] = item_element(size);
  if (item >= n) return;
  T* const to = dx.at<T>(item);
  if (to == nullptr) return;
  put(dy.at<T>(item)[element], to + order.source(element), dx.add[item] != 0);
}
template <class T>
void transpose_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  const std::size_t size = call.type->output_size;
  launch_each(commands_of(call), call.n * size, transposed_gradients<T>, call.n, size,
              Order(*call.type), call.dy, call.dx[0]);
}

}  // namespace

std::span<const KernelEntry> shape_kernels() {
  static const KernelEntry table[] = {
      {"identity",
       {{identity_forward<float>, identity_forward<double>},
        {identity_backward<float>, identity_backward<double>}}},
      {"concatenate",
       {{concatenate_forward<float>, concatenate_forward<double>},
        {concatenate_backward<float>, concatenate_backward<double>}}},
      {"pick_range",
       {{pick_range_forward<float>, pick_range_forward<double>},
        {pick_range_backward<float>, pick_range_backward<double>}}},
      {"transpose",
       {{transpose_forward<float>, transpose_forward<double>},
        {transpose_backward<float>, transpose_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::cuda
