// A number that tells data from other data.
#pragma once

#include <cstdint>
#include <string_view>

namespace dynet_like::examples {

/// FNV-1a (Fowler, Noll and Vo) over numbers and texts.
class Fingerprint {
 public:
  void add(std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) add_byte((number >> shift) & 0xff);
  }
  /// With its length, so that it matters where one text ends and the next begins.
  void add(std::string_view text) {
    add(static_cast<std::uint32_t>(text.size()));
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint32_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace dynet_like::examples
