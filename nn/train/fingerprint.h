// Fingerprint: a hash of data, the same in every process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dynet_like::nn {

/// FNV-1a (Fowler, Noll and Vo) over 64-bit numbers.
class Fingerprint {
 public:
  void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x100000001b3; }
  /// Adds eight bytes at a time as a number; pads the last ones with zeros.
  void add_words(std::span<const std::byte> bytes);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// The size and hash of the concatenated contents of files: "12 bytes, 0123456789abcdef". Throws
/// FileError.
std::string fingerprint_of(const std::vector<std::string>& files);

}  // namespace dynet_like::nn
