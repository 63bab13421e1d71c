// Folders and the bytes of files.
#include "examples/support/data_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

std::vector<std::string> files_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code unknown;
    if (entry.is_regular_file(unknown)) files.push_back(entry.path());
  }
  if (error) throw FileError(folder, "need a folder; got: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

std::string find_file(const std::string& folder, const std::string& beginning,
                      const std::string& ending) {
  if (folder.empty()) return "";
  std::string found;
  for (const std::string& file : files_in(folder)) {
    const std::string name = std::filesystem::path(file).filename();
    if (!name.starts_with(beginning) || !name.ends_with(ending)) continue;
    if (!found.empty()) {
      throw FileError(folder, fmt::format("need one file {}*{}; got several", beginning, ending));
    }
    found = file;
  }
  return found;
}

std::string fingerprint_of(const std::vector<std::string>& files) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a (Fowler, Noll and Vo)
  std::size_t bytes = 0;
  std::vector<char> block(1 << 16);
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
      const auto end = block.begin() + in.gcount();
      for (auto c = block.begin(); c != end; ++c) {
        hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
      }
      bytes += static_cast<std::size_t>(in.gcount());
    }
    if (!in.eof()) throw FileError(file, "need to read it; got an error");
    hash = (hash ^ 0x100) * 0x100000001b3;  // where a file ends matters
  }
  return fmt::format("{} bytes, {:016x}", bytes, hash);
}

}  // namespace dynet_like::examples
