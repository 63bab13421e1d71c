// Tells whether memory has changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynet_like::detail {

/// A number of these bytes: equal bytes have equal ones, and other bytes another one, but for one
/// accident in some 2^32. A change of four aligned bytes alone is always seen. It depends on the
/// instruction set. Reads some 16 bytes a cycle.
std::uint64_t digest(const void* memory, std::size_t bytes);

}  // namespace dynet_like::detail
