// Reordering goes along the last dimension, which is dense on one side.
#include "dynet_like/io/row_major.h"

#include <cstring>
#include <functional>
#include <numeric>

namespace dynet_like::detail {

namespace {

template <std::size_t kBytes>
void reorder(std::span<const std::uint64_t> shape, const std::byte* from, std::byte* to,
             ElementOrder to_order) {
  const auto outer = shape.first(shape.size() - 1);
  const std::uint64_t length = shape.back();
  const std::uint64_t runs =
      std::accumulate(outer.begin(), outer.end(), std::uint64_t{1}, std::multiplies<>());
  const auto copy = [&](std::uint64_t row_major, std::uint64_t column_major) {
    const bool to_rows = to_order == ElementOrder::row_major;
    const std::uint64_t source = to_rows ? column_major : row_major;
    const std::uint64_t target = to_rows ? row_major : column_major;
    std::memcpy(to + target * kBytes, from + source * kBytes, kBytes);
  };
  for (std::uint64_t run = 0; run < runs; ++run) {
    // A run is the elements along the last dimension; the others' indices follow from its number.
    std::uint64_t place = 0, rest = run, stride = runs;
    for (std::size_t i = outer.size(); i-- > 0;) {
      stride /= outer[i];
      place += rest % outer[i] * stride;
      rest /= outer[i];
    }
    for (std::uint64_t i = 0; i < length; ++i) copy(run * length + i, place + i * runs);
  }
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
      return reorder<1>(shape, from, to, to_order);
    case 2:
      return reorder<2>(shape, from, to, to_order);
    case 4:
      return reorder<4>(shape, from, to, to_order);
    default:
      return reorder<8>(shape, from, to, to_order);
  }
}

}  // namespace dynet_like::detail
