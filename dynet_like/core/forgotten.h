// What memory holds that was given back, so that whoever reads it is found.
#pragma once

#include <cstdint>

namespace dynet_like::detail {

/// These 32 bits again and again: a quiet NaN as a float and, twice, as a double. No operation
/// makes one with these low bits, and programs hardly do: a file of -1 read as numbers is not it.
inline constexpr std::uint32_t kForgottenFloat = 0x7ff8dead;
inline constexpr std::uint64_t kForgottenDouble =
    std::uint64_t{kForgottenFloat} << 32 | kForgottenFloat;

}  // namespace dynet_like::detail
