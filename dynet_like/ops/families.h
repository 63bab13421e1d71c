// The families of ops. Each has a file of its name, mostly in the plural, in graph/ops, device/cpu
// and device/cuda. The families of elementwise formulas have only kernels.
#pragma once

// clang-format off
#define DYNET_LIKE_OP_FAMILIES(X) \
  X(source) X(product) X(inner_product) X(matrix) X(cell) X(attention) X(reduction) X(dimension) \
  X(norm) X(selection) X(softmax) X(copying) X(chain) X(projection) X(loss) X(shape) X(random)
#define DYNET_LIKE_KERNEL_FAMILIES(X) DYNET_LIKE_OP_FAMILIES(X) X(elementwise) X(special_function)
// clang-format on
