// Loads shared libraries at run time.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::detail::cuda {

/// Null if there is no such library. It is never unloaded, because other code may still use it.
void* open_library(const char* name);
/// Null if the library has no such function.
void* find_function(void* library, std::string_view name);
/// The reason why the last of these calls failed.
std::string loader_error();

}  // namespace dynet_like::detail::cuda
