// The version is that of CMake's project.
#include "dynet_like/core/version.h"

namespace dynet_like {

std::string version() { return DYNET_LIKE_VERSION; }

}  // namespace dynet_like
