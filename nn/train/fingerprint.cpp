// Fingerprints of memory and of files.
#include "nn/train/fingerprint.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

void Fingerprint::add_words(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    add(word);
  }
}

std::string fingerprint_of(const std::vector<std::string>& files) {
  Fingerprint fingerprint;
  std::size_t bytes = 0;
  std::vector<char> block(1 << 16);
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
      const auto end = block.begin() + in.gcount();
      for (auto c = block.begin(); c != end; ++c) fingerprint.add(static_cast<unsigned char>(*c));
      bytes += static_cast<std::size_t>(in.gcount());
    }
    if (!in.eof()) throw FileError(file, "need to read it; got an error");
    fingerprint.add(0x100);  // marks the end of a file
  }
  return fmt::format("{} bytes, {:016x}", bytes, fingerprint.value());
}

}  // namespace dynet_like::nn
