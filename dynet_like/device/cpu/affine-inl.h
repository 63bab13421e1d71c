// Affine maps b + W1 x1 + W2 x2 + ... of the items of a batch, and their gradients.
// Included once per target, like lanes-inl.h.

#if defined(DYNET_LIKE_AFFINE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_AFFINE_INL
#undef DYNET_LIKE_AFFINE_INL
#else
#define DYNET_LIKE_AFFINE_INL
#endif

#include <bit>

#include "dynet_like/device/cell_layouts.h"
#include "dynet_like/device/cpu/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

struct Items {
  std::size_t first, n;
};

/// Column i of a batch, counted over items.
struct ColumnPlace {
  std::size_t item, column;
  ColumnPlace(const Affine& map, std::size_t i) : item(i), column(0) {
    if (map.columns == 1) return;  // a division takes as long as a row of the product
    item = i / map.columns;
    column = i % map.columns;
  }
};

/// The map without its first pairs, whose sums are there already.
inline Affine without_pairs(const Affine& map, std::size_t pairs) {
  Affine rest = map;
  rest.first += 2 * pairs;
  rest.pairs -= pairs;
  return rest;
}

/// The first pairs of the map, without its bias.
inline Affine first_pairs(const Affine& map, std::size_t pairs) {
  return {false, 0, map.first, pairs, map.rows, map.columns};
}

/// How many pairs have run early.
inline std::size_t early_pairs(const ForwardCall& call) {
  return static_cast<std::size_t>(std::popcount(call.early_inputs));
}

/// Computes the maps of some items. out_of(i) is the destination of the columns of item i. If there
/// is a `start`, it has what the sums of the items begin with.
template <class E, class OutOf>
void affine(const ForwardCall& call, const Affine& map, Items items, const OutOf& out_of,
            const Output& start = {}) {
  Factor<E> factors[kMostFactors];
  bool all_shared = true, all_packed = true;
  for (std::size_t p = 0; p < map.pairs; ++p) {
    const Operand& matrix = call.in[map.first + 2 * p];
    factors[p].k = call.type->inputs[map.first + 2 * p].cols();
    factors[p].packed = matrix.packed != nullptr;
    all_shared = all_shared && matrix.items == nullptr;
    all_packed = all_packed && factors[p].packed;
  }
  const bool bias_per_column = map.has_bias && call.type->inputs[map.bias].cols() == map.columns;
  const Product<E> product{factors, map.pairs, map.rows, all_packed};
  const std::size_t group = all_shared ? items.n : 1;  // items with the same matrices
  for (std::size_t done = 0; done < items.n; done += group) {
    const std::size_t first = items.first + done;
    for (std::size_t p = 0; p < map.pairs; ++p) {
      const Operand& matrix = call.in[map.first + 2 * p];
      factors[p].matrix =
          factors[p].packed ? static_cast<const E*>(matrix.packed) : matrix.at<E>(first);
    }
    multiply(product, group * map.columns, [&](auto& block, std::size_t begin) HWY_ATTR {
      block.starts = start.first != nullptr;
      for (int c = 0; c < block.count; ++c) {
        const ColumnPlace place(map, begin + c);
        const std::size_t item = first + place.item, column = place.column;
        for (std::size_t p = 0; p < map.pairs; ++p) {
          block.x[p][c] = call.in[map.first + 2 * p + 1].at<E>(item) + column * factors[p].k;
        }
        if (map.has_bias) {
          block.bias[c] = call.in[map.bias].at<E>(item) + (bias_per_column ? column * map.rows : 0);
        }
        if (block.starts) block.start[c] = start.at<E>(item) + column * map.rows;
        block.out[c] = out_of(item) + column * map.rows;
      }
    });
  }
}

// dx = W' dy for the right sides of one pair. dy_of(i) points to the columns of item i.
template <class E, class DyOf>
void right_gradient(const BackwardCall& call, const Affine& map, std::size_t left, Items items,
                    const DyOf& dy_of) {
  const Operand& matrix = call.in[left];
  const Destination& dx = call.dx[left + 1];
  const std::size_t k_count = call.type->inputs[left].cols();
  auto* wanted = call.workspace->elements<std::uint32_t>(items.n);
  std::size_t count = 0;
  for (std::size_t i = items.first; i < items.first + items.n; ++i) {
    if (dx.items[i] != nullptr) wanted[count++] = static_cast<std::uint32_t>(i);
  }
  if (count == 0) return;
  Factor<E> factor{static_cast<const E*>(matrix.packed), map.rows, true};
  E* own = nullptr;
  if (factor.matrix == nullptr) {
    factor.matrix = own = call.workspace->elements<E>(padded_rows<E>(k_count) * map.rows);
  }
  const Product<E> product{&factor, 1, k_count, true};
  const std::size_t group = matrix.items == nullptr ? count : 1;  // items with the same matrix
  for (std::size_t first = 0; first < count; first += group) {
    if (own != nullptr) pack_transposed(matrix.at<E>(wanted[first]), map.rows, k_count, own);
    multiply(product, group * map.columns, [&](auto& block, std::size_t begin) HWY_ATTR {
      for (int c = 0; c < block.count; ++c) {
        const ColumnPlace place(map, begin + c);
        const std::size_t item = wanted[first + place.item], column = place.column;
        block.x[0][c] = dy_of(item) + column * map.rows;
        block.out[c] = dx.at<E>(item) + column * k_count;
        block.add[c] = dx.add[item] != 0;
      }
    });
  }
}

// dW = dy x' of one item, for matrices that are not shared: one chain over the item's columns.
template <class E, class DyOf>
void left_gradient(const BackwardCall& call, const Affine& map, std::size_t left, Items items,
                   const DyOf& dy_of) {
  const std::size_t k_count = call.type->inputs[left].cols();
  for (std::size_t i = items.first; i < items.first + items.n; ++i) {
    E* to = call.dx[left].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[left].add[i] != 0;
    const E *dy = dy_of(i), *x = call.in[left + 1].at<E>(i);
    for (std::size_t k = 0; k < k_count; ++k) {
      for_lanes<E>(map.rows, [&](std::size_t at, std::size_t count) HWY_ATTR {
        Lanes<E> acc(0.0);
        for (std::size_t c = 0; c < map.columns; ++c) {
          const Lanes<E> factor(static_cast<double>(x[c * k_count + k]));
          acc = fused(load(dy + c * map.rows + at, count), factor, acc);
        }
        put(acc, to + k * map.rows + at, count, add);
      });
    }
  }
}

// A bias that is not shared gets dy, summed over columns if the bias has only one.
template <class E, class DyOf>
void bias_gradient(const BackwardCall& call, const Affine& map, Items items, const DyOf& dy_of) {
  const std::size_t size = call.type->inputs[map.bias].size();
  const std::size_t repeats = map.rows * map.columns / size;
  for (std::size_t i = items.first; i < items.first + items.n; ++i) {
    E* to = call.dx[map.bias].at<E>(i);
    if (to == nullptr) continue;
    for_lanes<E>(size, [&](std::size_t at, std::size_t count) HWY_ATTR {
      Lanes<E> acc = load(dy_of(i) + at, count);
      for (std::size_t r = 1; r < repeats; ++r) {
        acc = acc + load(dy_of(i) + r * size + at, count);
      }
      put(acc, to + at, count, call.dx[map.bias].add[i] != 0);
    });
  }
}

/// The wanted gradients of bias, matrices and right sides, given the gradient dy_of(i) of item i.
template <class E, class DyOf>
void affine_gradients(const BackwardCall& call, const Affine& map, Items items, const DyOf& dy_of) {
  if (map.has_bias && call.dx[map.bias].wanted()) bias_gradient<E>(call, map, items, dy_of);
  for (std::size_t left = map.first; left < map.first + 2 * map.pairs; left += 2) {
    if (call.dx[left].wanted()) left_gradient<E>(call, map, left, items, dy_of);
    if (call.dx[left + 1].wanted()) right_gradient<E>(call, map, left, items, dy_of);
  }
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
