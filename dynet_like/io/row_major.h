// Row-major and column-major arrays into each other; internal to files of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dynet_like::detail {

enum class ElementOrder { row_major, column_major };

/// Copies an array of elements of 1, 2, 4 or 8 bytes into one of the order `to_order` from one of
/// the other order.
void reorder(std::span<const std::uint64_t> shape, std::size_t item_bytes, const std::byte* from,
             std::byte* to, ElementOrder to_order);

}  // namespace dynet_like::detail
