// A number that tells files with data from others.
#pragma once

#include <string>
#include <vector>

namespace dynet_like::examples {

/// Of the contents of files, for the settings of a run that must go on with the same data. Throws
/// FileError.
std::string fingerprint_of(const std::vector<std::string>& files);

}  // namespace dynet_like::examples
