// Copies elements. The usual sizes of elements are compile-time constants.
#include "dynet_like/io/row_major.h"

#include <algorithm>
#include <cstring>

namespace dynet_like::detail {

namespace {

/// Elements of a matrix in squares, whose lines stay in the cache.
template <class Visit>
void for_each_place_of_matrix(std::uint64_t rows, std::uint64_t columns, const Visit& visit) {
  constexpr std::uint64_t kSquare = 8;
  for (std::uint64_t r = 0; r < rows; r += kSquare) {
    for (std::uint64_t c = 0; c < columns; c += kSquare) {
      const std::uint64_t end_row = std::min(r + kSquare, rows);
      const std::uint64_t end_column = std::min(c + kSquare, columns);
      for (std::uint64_t row = r; row < end_row; ++row) {
        for (std::uint64_t column = c; column < end_column; ++column) {
          visit(row * columns + column, column * rows + row);
        }
      }
    }
  }
}

/// kBytes is item_bytes, or 0 for other sizes.
template <std::size_t kBytes>
void reorder(std::span<const std::uint64_t> shape, std::size_t item_bytes, const std::byte* from,
             std::byte* to, ElementOrder to_order) {
  const std::size_t bytes = kBytes == 0 ? item_bytes : kBytes;
  const bool to_rows = to_order == ElementOrder::row_major;
  const auto copy = [&](std::uint64_t row_major, std::uint64_t column_major) {
    const std::uint64_t source = to_rows ? column_major : row_major;
    const std::uint64_t target = to_rows ? row_major : column_major;
    std::memcpy(to + target * bytes, from + source * bytes, bytes);
  };
  shape.size() == 2 ? for_each_place_of_matrix(shape[0], shape[1], copy)
                    : for_each_place(shape, copy);
}

}  // namespace

void reorder(std::span<const std::uint64_t> shape, std::size_t item_bytes, const std::byte* from,
             std::byte* to, ElementOrder to_order) {
  const std::uint64_t count =
      std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
  if (count == 0) return;
  if (shape.size() < 2) {
    std::memcpy(to, from, count * item_bytes);
    return;
  }
  switch (item_bytes) {
    case 1:
      return reorder<1>(shape, item_bytes, from, to, to_order);
    case 2:
      return reorder<2>(shape, item_bytes, from, to, to_order);
    case 4:
      return reorder<4>(shape, item_bytes, from, to, to_order);
    case 8:
      return reorder<8>(shape, item_bytes, from, to, to_order);
    default:
      return reorder<0>(shape, item_bytes, from, to, to_order);
  }
}

}  // namespace dynet_like::detail
