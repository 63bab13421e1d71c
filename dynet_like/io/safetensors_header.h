// The header of a safetensors file as text; internal to reading and writing such files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/io/safetensors.h"

namespace dynet_like::safetensors {

inline constexpr std::uint64_t kHeaderLimit = 100'000'000;  // that of the reference implementation
inline constexpr std::size_t kRankLimit = 32;

/// The contents of a header: tensors in the order of their data, without bytes yet.
struct Header {
  std::vector<TensorEntry> entries;
  std::vector<std::size_t> begins;  ///< Where each entry's bytes begin in the data.
  std::map<std::string, std::size_t, std::less<>> index;
  std::map<std::string, std::string> metadata;  ///< without the checksums
  std::optional<std::uint32_t> data_checksum;   ///< if the file has one
};

/// Throws FileError unless the header is valid for `data_size` bytes of data, and fits its
/// checksum, if the file has one.
Header parse_header(std::string_view text, std::uint64_t data_size, const std::string& file);

/// Throws FileError unless the data fit their checksum, if the file has one.
void check_data(const Header& header, std::span<const std::byte> data, const std::string& file);

/// The header for tensors whose data follow each other in this order, with both checksums, padded
/// to 8 bytes. Throws UsageError for entries or metadata that the format does not allow.
std::string header_text(std::span<const TensorEntry* const> entries,
                        const std::map<std::string, std::string>& metadata);

/// Bytes of a tensor of this dtype and shape; nothing if that is 2^64 or more (2^64 bits for
/// elements smaller than a byte), or not a whole number.
std::optional<std::uint64_t> byte_count(const TensorEntry& entry);

/// Quotes text for a message: shortened, and without control characters.
std::string shown(std::string_view text);

[[noreturn]] void fail(const std::string& file, const std::string& need, const std::string& got);

}  // namespace dynet_like::safetensors
