// Exceptions of samples, as the caller of all samples gets them.
#pragma once

#include <cstddef>
#include <exception>

namespace dynet_like::detail {

/// Throws it on; with ", in sample N" if it is an exception of the library, and of no derived
/// class.
[[noreturn]] void rethrow_in_sample(std::exception_ptr failure, std::size_t sample);

}  // namespace dynet_like::detail
