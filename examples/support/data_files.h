// The files of a folder with data, and a number that tells them from others.
#pragma once

#include <string>
#include <vector>

namespace dynet_like::examples {

/// The paths of the files in a folder, but for those in folders in it, in order. Throws FileError
/// for a folder that cannot be read.
std::vector<std::string> files_in(const std::string& folder);

/// The path of the one file in a folder whose name begins and ends so; empty if the folder's name
/// is and where there is none. Throws FileError for several.
std::string find_file(const std::string& folder, const std::string& beginning,
                      const std::string& ending);

/// Of the contents of files, for the settings of a run that must go on with the same data. Throws
/// FileError.
std::string fingerprint_of(const std::vector<std::string>& files);

}  // namespace dynet_like::examples
