// Affine maps b + W1 x1 + W2 x2 + ... of the items of a batch, and their gradients.
#pragma once

#include "dynet_like/device/cell_layouts.h"
#include "dynet_like/device/cuda/gathered_products.h"

namespace dynet_like::detail::cuda {

/// The maps of all items, one behind the other.
template <class T>
void add_affine(GatheredProducts<T>& products, const ForwardCall& call, const Affine& map,
                const Output& out);

/// dx = W' dy for the right sides, as far as they are wanted; `dy` says where the gradients of the
/// results lie, and `other` where what is added to W' dy does, if it is anywhere. To be launched
/// with transposed matrices.
template <class T>
void add_right_gradients(GatheredProducts<T>& products, const BackwardCall& call, const Affine& map,
                         const Places<T>& dy, const Places<T>& other = {});

/// The gradients of matrices and bias, as far as they are wanted from the kernel: parameters get
/// theirs elsewhere.
template <class T>
void launch_left_gradients(const BackwardCall& call, const Affine& map, const Places<T>& dy);

}  // namespace dynet_like::detail::cuda
