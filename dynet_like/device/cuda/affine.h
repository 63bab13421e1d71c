// Affine maps b + W1 x1 + W2 x2 + ... of the items of a batch, and their gradients.
#pragma once

#include "dynet_like/device/cell_layouts.h"
#include "dynet_like/device/cuda/gathered_products.h"

namespace dynet_like::detail::cuda {

/// Adds the maps of all items; results lie one behind the other.
template <class T>
void add_affine(GatheredProducts<T>& products, const ForwardCall& call, const Affine& map,
                const Output& out);

/// Adds the wanted gradients dx = W' dy of right sides. `dy` has the places of the results'
/// gradients, and `other`, if given, the places of numbers that are added to W' dy. Must be
/// launched with transposed matrices.
template <class T>
void add_right_gradients(GatheredProducts<T>& products, const BackwardCall& call, const Affine& map,
                         const Places<T>& dy, const Places<T>& other = {});

/// The gradients of matrices and bias that the kernel must compute: those of parameters are
/// computed elsewhere.
template <class T>
void launch_left_gradients(const BackwardCall& call, const Affine& map, const Places<T>& dy);

}  // namespace dynet_like::detail::cuda
