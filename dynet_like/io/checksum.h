// Checksums of the contents of files; internal to readers and writers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dynet_like::detail {

/// The CRC-32 of bytes (RFC 1952). With `before`, the checksum of earlier bytes followed by these.
std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t checksum(std::string_view text, std::uint32_t before = 0);

/// A checksum as eight hexadecimal digits, and the reverse, which returns nothing for other texts.
std::string checksum_text(std::uint32_t checksum);
std::optional<std::uint32_t> parse_checksum(std::string_view text);

}  // namespace dynet_like::detail
