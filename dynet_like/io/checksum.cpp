// CRC-32 by zlib.
#include "dynet_like/io/checksum.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>
#include <zlib.h>

namespace dynet_like::detail {

std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // for a null pointer, zlib would start again
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t checksum(std::string_view text, std::uint32_t before) {
  return checksum(std::as_bytes(std::span(text)), before);
}

std::string checksum_text(std::uint32_t checksum) { return fmt::format("{:08x}", checksum); }

std::optional<std::uint32_t> parse_checksum(std::string_view text) {
  std::uint32_t sum = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, sum, 16);
  if (text.size() != 8 || error != std::errc{} || stop != end) return std::nullopt;
  return sum;
}

}  // namespace dynet_like::detail
