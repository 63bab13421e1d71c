// Sets of rows, as bit masks in integers.
#pragma once

#include <cstdint>

namespace dynet_like::detail {

/// Row r is selected by bit r % 16 of mask r / 16.
inline constexpr std::uint32_t kRowsOfAMask = 16;

constexpr std::uint32_t masks_of_rows(std::uint32_t rows) {
  return (rows + kRowsOfAMask - 1) / kRowsOfAMask;
}

}  // namespace dynet_like::detail
