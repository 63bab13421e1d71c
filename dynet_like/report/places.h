// Files and lines of the program's calls.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/tape/call_stacks.h"

namespace dynet_like::detail {

/// For every group of calls, with how often each was made: the places outside the library that were
/// made most, at most `most` of them. A place is "model.cpp:12", or the name of a function without
/// debug information, and that it has none; places of which nothing is known are left out.
std::vector<std::vector<std::string>> places_of(
    std::span<const std::map<CallStack, std::uint64_t>> groups, std::size_t most);

/// Whether a file belongs to the compiler or to the system: it calls programs, and is none.
bool is_of_system(const std::string& file);

}  // namespace dynet_like::detail
