// The bytes of files.
#include "examples/full/support/data_files.h"

#include <cstdint>
#include <fstream>

#include <fmt/core.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

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
