// Fingerprint: a number that tells data from other data, the same in every process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dynet_like::nn {

/// FNV-1a (Fowler, Noll and Vo), number by number.
class Fingerprint {
 public:
  void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x100000001b3; }
  /// Eight bytes a number, the last ones filled up with zeros.
  void add_words(std::span<const std::byte> bytes);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// "12 bytes, 0123456789abcdef": of the contents of files, one after the other. Throws FileError.
std::string fingerprint_of(const std::vector<std::string>& files);

}  // namespace dynet_like::nn
