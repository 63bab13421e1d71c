// The families of ops: each has a file of that name, most of them in the plural, in graph/ops,
// device/cpu and device/cuda. Those of formulas have kernels only.
#pragma once

// clang-format off
#define DYNET_LIKE_OP_FAMILIES(X) \
  X(source) X(product) X(inner_product) X(matrix) X(cell) X(attention) X(reduction) X(dimension) \
  X(norm) X(selection) X(softmax) X(copying) X(chain) X(projection) X(loss) X(shape) X(random)
#define DYNET_LIKE_KERNEL_FAMILIES(X) DYNET_LIKE_OP_FAMILIES(X) X(elementwise) X(special_function)
// clang-format on
