// Matrix products and affine maps: W x for many columns x, and its gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

// The pairs (W, x) of a product or an affine map: `first` is 1 where input 0 is a bias.
struct Pairs {
  std::size_t first, count, rows, columns;
  explicit Pairs(const Signature& type)
      : first(type.inputs.size() % 2),
        count(type.inputs.size() / 2),
        rows(type.output.rows()),
        columns(type.output.cols()) {}
};

template <class E>
void product_forward(const ForwardCall& call) {
  const Pairs pairs(*call.type);
  Factor<E> factors[kMostFactors];
  bool all_shared = true;
  for (std::size_t p = 0; p < pairs.count; ++p) {
    const Operand& matrix = call.in[pairs.first + 2 * p];
    factors[p].k = call.type->inputs[pairs.first + 2 * p].cols();
    factors[p].packed = matrix.packed != nullptr;
    all_shared = all_shared && matrix.items == nullptr;
  }
  const bool bias_per_column =
      pairs.first == 1 && call.type->inputs[0].cols() == call.type->output.cols();
  const Product<E> product{factors, pairs.count, pairs.rows};
  const std::size_t group = all_shared ? call.n : 1;  // items with the same matrices
  for (std::size_t first = 0; first < call.n; first += group) {
    for (std::size_t p = 0; p < pairs.count; ++p) {
      const Operand& matrix = call.in[pairs.first + 2 * p];
      factors[p].matrix =
          factors[p].packed ? static_cast<const E*>(matrix.packed) : matrix.at<E>(first);
    }
    multiply(
        product, group * pairs.columns, [&](ColumnBlock<E>& block, std::size_t begin) HWY_ATTR {
          for (int c = 0; c < block.count; ++c) {
            const std::size_t item = first + (begin + c) / pairs.columns;
            const std::size_t column = (begin + c) % pairs.columns;
            for (std::size_t p = 0; p < pairs.count; ++p) {
              block.x[p][c] = call.in[pairs.first + 2 * p + 1].at<E>(item) + column * factors[p].k;
            }
            if (pairs.first == 1) {
              block.bias[c] = call.in[0].at<E>(item) + (bias_per_column ? column * pairs.rows : 0);
            }
            block.out[c] = static_cast<E*>(call.out) + (item * pairs.columns + column) * pairs.rows;
          }
        });
  }
}

// dW = dy x' of one item, for weights that are not shared: chains over the item's columns.
template <class E>
void left_gradient(const BackwardCall& call, const Pairs& pairs, std::size_t input) {
  const std::size_t k_count = call.type->inputs[input].cols();
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[input].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[input].add[i] != 0;
    const E *dy = call.dy.at<E>(i), *x = call.in[input + 1].at<E>(i);
    for (std::size_t k = 0; k < k_count; ++k) {
      for_lanes<E>(pairs.rows, [&](std::size_t at, std::size_t count) HWY_ATTR {
        Lanes<E> acc(0.0);
        for (std::size_t c = 0; c < pairs.columns; ++c) {
          const Lanes<E> factor(static_cast<double>(x[c * k_count + k]));
          acc = fused(load(dy + c * pairs.rows + at, count), factor, acc);
        }
        put(acc, to + k * pairs.rows + at, count, add);
      });
    }
  }
}

// A bias that is not shared gets dy, added over the columns if it has only one.
template <class E>
void bias_gradient(const BackwardCall& call, const Pairs& pairs) {
  const std::size_t size = call.type->inputs[0].size();
  const std::size_t repeats = pairs.rows * pairs.columns / size;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    for_lanes<E>(size, [&](std::size_t at, std::size_t count) HWY_ATTR {
      Lanes<E> acc = load(call.dy.at<E>(i) + at, count);
      for (std::size_t r = 1; r < repeats; ++r) {
        acc = acc + load(call.dy.at<E>(i) + r * size + at, count);
      }
      put(acc, to + at, count, call.dx[0].add[i] != 0);
    });
  }
}

template <class E>
void product_backward(const BackwardCall& call) {
  const Pairs pairs(*call.type);
  if (pairs.first == 1 && call.dx[0].wanted()) bias_gradient<E>(call, pairs);
  for (std::size_t p = 0; p < pairs.count; ++p) {
    const std::size_t left = pairs.first + 2 * p;
    if (call.dx[left].wanted()) left_gradient<E>(call, pairs, left);
    if (call.dx[left + 1].wanted()) {
      right_gradient<E>(
          call.in[left], pairs.rows, call.type->inputs[left].cols(), pairs.columns, call.n,
          [&](std::size_t i) { return call.dy.at<E>(i); }, call.dx[left + 1], *call.workspace);
    }
  }
}

std::span<const cpu::KernelEntry> product_table() {
  static const Kernels product = {{product_forward<float>, product_forward<double>},
                                  {product_backward<float>, product_backward<double>}};
  static const cpu::KernelEntry table[] = {{"matrix_product", product},
                                           {"affine_transform", product}};
  return table;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {
HWY_EXPORT(product_table);
std::span<const cpu::KernelEntry> cpu::product_kernels() {
  return HWY_DYNAMIC_DISPATCH(product_table)();
}
}  // namespace dynet_like
#endif
