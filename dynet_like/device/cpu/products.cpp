// Matrix products and affine maps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/affine-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

#include <algorithm>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// W x or b + W1 x1 + ...: with a bias, the number of inputs is odd.
Affine map_of(const Signature& type) {
  const std::size_t first = type.inputs.size() % 2;
  return {first == 1, 0, first, type.inputs.size() / 2, type.output.rows(), type.output.cols()};
}

// The biases of all parts, one behind the other.
template <class E>
const E* joined_bias(const ForwardCall& call, std::size_t rows) {
  E* const all = call.workspace->elements<E>(rows);
  for (const JoinedPart& part : call.parts) {
    std::copy_n(part.in[0].at<E>(0), part.type->output_size, all + part.first_row);
  }
  return all;
}

// One product with all rows, or one after the other where no matrix has them all.
template <class E>
void joined_forward(const ForwardCall& call) {
  const Affine map = map_of(*call.type);
  E* const out = static_cast<E*>(call.out);
  ForwardCall one = call;
  if (call.in[map.first].packed != nullptr) {
    std::vector<Operand> in(call.in, call.in + call.type->inputs.size());
    if (map.has_bias) in[0].shared = joined_bias<E>(call, map.rows);
    one.in = in.data();
    return affine(one, map, {0, call.n}, out);
  }
  for (const JoinedPart& part : call.parts) {
    one.type = part.type;
    one.in = part.in;
    affine(one, map_of(*part.type), {0, call.n}, out + part.first_row, map.rows);
  }
}

template <class E>
void product_forward(const ForwardCall& call) {
  if (!call.parts.empty()) return joined_forward<E>(call);
  affine(call, map_of(*call.type), {0, call.n}, static_cast<E*>(call.out));
}

template <class E>
void product_backward(const BackwardCall& call) {
  for (const JoinedPart& part : call.parts) {
    BackwardCall one = call;
    one.type = part.type;
    one.in = part.in;
    one.dx = part.dx;
    affine_gradients<E>(one, map_of(*part.type), {0, call.n},
                        [&](std::size_t i) { return call.dy.at<E>(i) + part.first_row; });
  }
  if (!call.parts.empty()) return;
  affine_gradients<E>(call, map_of(*call.type), {0, call.n},
                      [&](std::size_t i) { return call.dy.at<E>(i); });
}

std::span<const cpu::KernelEntry> product_table() {
  static const Kernels product = {{product_forward<float>, product_forward<double>},
                                  {product_backward<float>, product_backward<double>}};
  static const cpu::KernelEntry table[] = {{"matrix_product", product},
                                           {"affine_transform", product}};
  return table;
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(product_table);
std::span<const cpu::KernelEntry> cpu::product_kernels() {
  return HWY_DYNAMIC_DISPATCH(product_table)();
}
}  // namespace dynet_like::detail
#endif
