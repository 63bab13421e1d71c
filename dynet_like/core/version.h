// The version of this library.
#pragma once

#include <string>

namespace dynet_like {

/// For example "0.1.0".
std::string version();

}  // namespace dynet_like
