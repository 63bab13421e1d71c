// Zip archives byte by byte, for tests and fuzz targets: also those that lie about a member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/io/checksum.h"

namespace dynet_like {

/// A little-endian number of so many bytes.
inline std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (; bytes > 0; --bytes, number >>= 8) text += static_cast<char>(number);
  return text;
}

/// A member as it lies in an archive, and what its headers say of it; by default, that it is
/// stored.
struct ZipMember {
  std::string name, bytes;
  unsigned method = 0;
  std::uint64_t size = bytes.size();
  std::uint32_t checksum = detail::checksum(std::string_view(bytes));
};

inline std::vector<std::byte> archive_of(const std::vector<ZipMember>& members) {
  std::string archive, directory;
  for (const ZipMember& member : members) {
    // Flags, method, time and date, checksum, sizes, and the length of the name.
    const std::string common = little_endian(0, 2) + little_endian(member.method, 2) +
                               little_endian(0, 4) + little_endian(member.checksum, 4) +
                               little_endian(member.bytes.size(), 4) +
                               little_endian(member.size, 4) + little_endian(member.name.size(), 2);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + common +
                 little_endian(0, 12) + little_endian(archive.size(), 4) + member.name;
    archive +=
        "PK\3\4" + little_endian(20, 2) + common + little_endian(0, 2) + member.name + member.bytes;
  }
  const std::string count = little_endian(members.size(), 2);
  const std::string all = archive + directory + "PK\5\6" + little_endian(0, 4) + count + count +
                          little_endian(directory.size(), 4) + little_endian(archive.size(), 4) +
                          little_endian(0, 2);
  const auto bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

}  // namespace dynet_like
