// Shared libraries that are loaded when they are asked for.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::detail::cuda {

/// Null if there is none. It stays: other parts of the process may use what it began.
void* open_library(const char* name);
/// Null if the library has no such function.
void* find_function(void* library, std::string_view name);
/// Why the last of these found nothing.
std::string loader_error();

}  // namespace dynet_like::detail::cuda
