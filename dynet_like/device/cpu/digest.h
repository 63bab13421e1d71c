// Detects changes of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynet_like::detail {

/// A hash of these bytes. Equal bytes have equal hashes; different bytes have different ones, up to
/// one collision in about 2^32. A change of only four aligned bytes is always detected. The hash
/// depends on the instruction set. Reads about 16 bytes per cycle.
std::uint64_t digest(const void* memory, std::size_t bytes);

}  // namespace dynet_like::detail
