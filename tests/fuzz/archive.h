// Zip archives of the fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/io/checksum.h"

namespace dynet_like::fuzz {

using Bytes = std::vector<std::byte>;

/// A little-endian number of so many bytes.
inline std::string number(std::uint64_t value, std::size_t count) {
  std::string text;
  for (; count > 0; --count, value >>= 8) text += static_cast<char>(value);
  return text;
}

/// An archive of members, stored under their names, with the right checksums: a fuzzer would seldom
/// guess these.
inline Bytes archive_of(const std::vector<std::pair<std::string, Bytes>>& members) {
  Bytes archive;
  const auto append = [&](std::span<const std::byte> part) {
    archive.insert(archive.end(), part.begin(), part.end());
  };
  std::string directory;
  for (const auto& [name, bytes] : members) {
    const std::string size = number(bytes.size(), 4),
                      common = number(0, 8) + number(detail::checksum(bytes), 4) + size + size +
                               number(name.size(), 2),
                      local = "PK\3\4" + number(20, 2) + common + number(0, 2) + name;
    directory += "PK\1\2" + number(20, 2) + number(20, 2) + common + number(0, 12) +
                 number(archive.size(), 4) + name;
    append(std::as_bytes(std::span(local)));
    append(bytes);
  }
  const std::string end = directory + "PK\5\6" + number(0, 4) + number(members.size(), 2) +
                          number(members.size(), 2) + number(directory.size(), 4) +
                          number(archive.size(), 4) + number(0, 2);
  append(std::as_bytes(std::span(end)));
  return archive;
}

}  // namespace dynet_like::fuzz
