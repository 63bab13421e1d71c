// Gradients of matrices with any number of columns, to which several items may contribute.
#pragma once

#include <algorithm>

#include "dynet_like/device/open_destinations.h"

namespace dynet_like::detail::cpu {

template <class E>
void add_column(const E* column, std::size_t rows, E* sum) {
  for (std::size_t r = 0; r < rows; ++r) sum[r] += column[r];
}

/// For the gradient of every matrix (input 0, with as many rows as the output): calls add(item,
/// sums) for all items that contribute to it, and writes or adds the sums. An item has
/// type.integers integers; the first is the number of columns.
template <class E, class Add>
void put_sums(const BackwardCall& call, const Add& add) {
  const std::size_t rows = call.type->output_size;
  for (std::size_t i = 0; i < call.n;) {
    const std::size_t first = i, size = call.integers[call.type->integers * first] * rows;
    E* const dx = call.dx[0].at<E>(first);
    const bool adds = dx != nullptr && call.dx[0].add[first] != 0;
    E* const sums = adds ? call.workspace->elements<E>(size) : dx;
    if (dx != nullptr) std::fill_n(sums, size, E(0));
    do {
      if (dx != nullptr) add(i, sums);
      ++i;
    } while (i < call.n && shares_destination(call, 0, i));
    if (adds) add_column(sums, size, dx);
  }
}

}  // namespace dynet_like::detail::cpu
