// The pattern that fills freed memory, so that a read of freed values is found.
#pragma once

#include <cstdint>

namespace dynet_like::detail {

/// Freed memory repeats these 32 bits: a quiet NaN as a float and, twice, as a double. No operation
/// makes a NaN with these low bits, and data hardly contains it: it differs from an integer of -1.
inline constexpr std::uint32_t kForgottenFloat = 0x7ff8dead;
inline constexpr std::uint64_t kForgottenDouble =
    std::uint64_t{kForgottenFloat} << 32 | kForgottenFloat;

}  // namespace dynet_like::detail
