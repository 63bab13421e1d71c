// Kernels of ops: matrix products and affine maps.
#include "dynet_like/device/cuda/affine.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

// W x, or b + W1 x1 + ...: the number of inputs is odd if there is a bias.
Affine map_of(const Signature& type) {
  const std::size_t first = type.inputs.size() % 2;
  return {first == 1, 0, first, type.inputs.size() / 2, type.output.rows(), type.output.cols()};
}

template <class T>
void product_forward(const ForwardCall& call) {
  GatheredProducts<T> products;
  add_affine(products, call, map_of(*call.type), call.out);
  products.launch(commands_of(call), false);
}

template <class T>
void product_backward(const BackwardCall& call) {
  const Affine map = map_of(*call.type);
  GatheredProducts<T> products;
  const Places<T> dy(call.dy);
  launch_left_gradients(call, map, dy);
  add_right_gradients(products, call, map, dy);
  products.launch(commands_of(call), true);
}

}  // namespace

std::vector<KernelEntry> product_kernels() {
  static const Kernels product = DYNET_LIKE_KERNELS(product_forward, product_backward);
  return {{"matrix_product", product}, {"affine_transform", product}};
}

}  // namespace dynet_like::detail::cuda
