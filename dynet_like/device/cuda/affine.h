// Affine maps b + W1 x1 + W2 x2 + ... of the items of a batch as gathered products, and their
// gradients.
#pragma once

#include <vector>

#include "dynet_like/device/cell_layouts.h"
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/gathered_products.h"

namespace dynet_like::detail::cuda {

// dW = dy x' of every item: one chain over the item's columns.
struct MatrixGradients {
  template <class T>
  __device__ static T gradient(Place here, Places<T> dy, Places<T> x, unsigned rows, unsigned inner,
                               unsigned columns) {
    const T* const left = dy.at(here.item) + here.at % rows;
    const T* const right = x.at(here.item) + here.at / rows;
    T sum = 0;
    for (unsigned c = 0; c < columns; ++c) {
      sum = std::fma(left[std::size_t{c} * rows], right[std::size_t{c} * inner], sum);
    }
    return sum;
  }
};

// dy, summed over columns if the bias has only one.
struct BiasGradients {
  template <class T>
  __device__ static T gradient(Place here, Places<T> dy, unsigned size, unsigned repeats) {
    const T* const from = dy.at(here.item) + here.at;
    T sum = from[0];
    for (unsigned r = 1; r < repeats; ++r) sum = sum + from[std::size_t{r} * size];
    return sum;
  }
};

/// Adds the maps of all items; results lie one behind the other.
template <class T>
void add_affine(GatheredProducts<T>& products, const ForwardCall& call, const Affine& map,
                const Output& out) {
  GatheredProduct<T> product;
  product.rows = static_cast<unsigned>(map.rows);
  product.columns = static_cast<unsigned>(map.columns);
  product.items = launch_size(call.n);
  product.has_bias = map.has_bias;
  if (map.has_bias) {
    product.bias = Places<T>(call.in[map.bias]);
    product.bias_columns = call.type->inputs[map.bias].cols();
  }
  if (out.items == nullptr) product.out = static_cast<T*>(out.first);
  product.to.items = out.items;
  std::vector<Factor<T>> factors;
  for (std::size_t left = map.first; left < map.first + 2 * map.pairs; left += 2) {
    factors.push_back(
        {Places<T>(call.in[left]), Places<T>(call.in[left + 1]), call.type->inputs[left].cols()});
  }
  products.add(product, factors);
}

// For the pair that begins with input `left`.
template <class T>
GatheredProduct<T> right_gradient(const BackwardCall& call, const Affine& map, std::size_t left) {
  GatheredProduct<T> product;
  product.rows = call.type->inputs[left].cols();
  product.columns = static_cast<unsigned>(map.columns);
  product.items = launch_size(call.n);
  product.to = call.dx[left + 1];
  return product;
}

/// Adds the wanted gradients dx = W' dy of right sides. `dy` has the places of the results'
/// gradients, and `other`, if given, the places of numbers that are added to W' dy. Must be
/// launched with transposed matrices.
template <class T>
void add_right_gradients(GatheredProducts<T>& products, const BackwardCall& call, const Affine& map,
                         const Places<T>& dy, const Places<T>& other = {}) {
  for (std::size_t left = map.first; left < map.first + 2 * map.pairs; left += 2) {
    if (!call.dx[left + 1].wanted()) continue;
    GatheredProduct<T> product = right_gradient<T>(call, map, left);
    product.has_bias = other.items != nullptr || other.first != nullptr;
    product.bias = other;
    product.bias_columns = product.columns;
    products.add(product, {{Places<T>(call.in[left]), dy, static_cast<unsigned>(map.rows)}});
  }
}

/// The gradients of matrices and bias that the kernel must compute: those of parameters are
/// computed elsewhere.
template <class T>
void launch_left_gradients(const BackwardCall& call, const Affine& map, const Places<T>& dy) {
  const auto rows = static_cast<unsigned>(map.rows), columns = static_cast<unsigned>(map.columns);
  for (std::size_t left = map.first; left < map.first + 2 * map.pairs; left += 2) {
    if (!call.dx[left].wanted()) continue;
    launch_gradients<MatrixGradients, T>(call, left, dy, Places<T>(call.in[left + 1]), rows,
                                         call.type->inputs[left].cols(), columns);
  }
  if (!map.has_bias) return;
  const unsigned size = call.type->inputs[map.bias].size();
  launch_gradients<BiasGradients, T>(call, map.bias, dy, size, rows * columns / size);
}

}  // namespace dynet_like::detail::cuda
