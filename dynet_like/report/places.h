// Files and lines in the program from which operations were called.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/tape/call_stacks.h"

namespace dynet_like::detail {

/// Each group has call stacks and how often each occurred. Returns for every group the most
/// frequent places outside the library, at most `most` of them. A place is "model.cpp:12". For code
/// without debug information it is the name of the function and a hint to compile with -g. Unknown
/// places are left out.
std::vector<std::vector<std::string>> places_of(
    std::span<const std::map<CallStack, std::uint64_t>> groups, std::size_t most);

/// Whether a file is a library of the compiler or the system, and so no place in the user's
/// program.
bool is_of_system(const std::string& file);

}  // namespace dynet_like::detail
