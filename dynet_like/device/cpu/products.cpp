// Matrix products and affine maps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/affine-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// W x, or b + W1 x1 + ...: the number of inputs is odd if there is a bias.
Affine map_of(const Signature& type) {
  const std::size_t first = type.inputs.size() % 2;
  return {first == 1, 0, first, type.inputs.size() / 2, type.output.rows(), type.output.cols()};
}

template <class E>
void product_begin(const ForwardCall& call) {
  affine<E>(call, first_pairs(map_of(*call.type), early_pairs(call)), {0, call.n},
            [&](std::size_t i) { return call.early.at<E>(i); });
}

template <class E>
void product_forward(const ForwardCall& call) {
  const Affine map = without_pairs(map_of(*call.type), early_pairs(call));
  affine<E>(
      call, map, {0, call.n}, [&](std::size_t i) { return call.out.at<E>(i); }, call.early);
}

template <class E>
void product_backward(const BackwardCall& call) {
  affine_gradients<E>(call, map_of(*call.type), {0, call.n},
                      [&](std::size_t i) { return call.dy.at<E>(i); });
}

std::vector<KernelEntry> product_kernels() {
  static const Kernels product = {{product_forward<float>, product_forward<double>},
                                  {product_backward<float>, product_backward<double>},
                                  {product_begin<float>, product_begin<double>},
                                  {product_backward<float>, product_backward<double>}};
  return {{"matrix_product", product}, {"affine_transform", product}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
