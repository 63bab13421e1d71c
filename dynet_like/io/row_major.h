// Converts between row-major and column-major arrays; internal to files of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace dynet_like::detail {

enum class ElementOrder { row_major, column_major };

/// Calls visit(row_major, column_major) with every element's position in both orders. It goes along
/// the last dimension, along which row-major elements are contiguous.
template <class Visit>
void for_each_place(std::span<const std::uint64_t> shape, const Visit& visit) {
  const auto outer = shape.first(shape.empty() ? 0 : shape.size() - 1);
  const std::uint64_t length = shape.empty() ? 1 : shape.back();
  const std::uint64_t runs =
      std::accumulate(outer.begin(), outer.end(), std::uint64_t{1}, std::multiplies<>());
  for (std::uint64_t run = 0; run < runs; ++run) {
    // A run is the elements along the last dimension. Its number gives the other indices.
    std::uint64_t place = 0, rest = run, stride = runs;
    for (std::size_t i = outer.size(); i-- > 0;) {
      stride /= outer[i];
      place += rest % outer[i] * stride;
      rest /= outer[i];
    }
    for (std::uint64_t i = 0; i < length; ++i) visit(run * length + i, place + i * runs);
  }
}

/// Copies an array of elements of so many bytes: from the other order into `to_order`.
void reorder(std::span<const std::uint64_t> shape, std::size_t item_bytes, const std::byte* from,
             std::byte* to, ElementOrder to_order);

}  // namespace dynet_like::detail
