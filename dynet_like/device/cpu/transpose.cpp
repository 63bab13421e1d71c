// Transposition on the CPU: plain code, because SIMD gather instructions are slower.
#include <cstdint>
#include <span>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/lines.h"

namespace dynet_like::detail::cpu {

namespace {

// The source index of each element of a transposed item, in the order of the output.
std::span<const std::uint32_t> transposed_order(const Signature& type, Workspace& workspace) {
  const Dim& from = type.inputs[0];
  std::size_t stride[Dim::kMaxDimensions], step = 1;
  for (unsigned i = 0; i < Dim::kMaxDimensions; ++i) {
    stride[i] = step;
    step *= from[i];
  }
  const std::span order(workspace.elements<std::uint32_t>(type.output_size), type.output_size);
  unsigned at[Dim::kMaxDimensions] = {};
  std::size_t source = 0;
  for (auto& element : order) {
    element = static_cast<std::uint32_t>(source);
    for (unsigned i = 0; i < type.output.nd; ++i) {
      source += stride[type.attributes[i]];
      if (++at[i] < type.output.d[i]) break;
      source -= stride[type.attributes[i]] * type.output.d[i];
      at[i] = 0;
    }
  }
  return order;
}

template <class E>
void transpose_forward(const ForwardCall& call) {
  const auto order = transposed_order(*call.type, *call.workspace);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* from = call.in[0].at<E>(i);
    E* out = call.out.at<E>(i);
    for (std::uint32_t source : order) *out++ = from[source];
  }
}

template <class E>
void transpose_backward(const BackwardCall& call) {
  const auto order = transposed_order(*call.type, *call.workspace);
  for_gradients<E>(call, 0, [&](std::size_t i, E* to, bool add) {
    const E* dy = call.dy.at<E>(i);
    for (std::size_t e = 0; e < order.size(); ++e) {
      put(dy[e], to + order[e], add);
    }
  });
}

}  // namespace

Kernels transpose_kernels() { return DYNET_LIKE_KERNELS(transpose_forward, transpose_backward); }

}  // namespace dynet_like::detail::cpu
