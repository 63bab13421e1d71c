// Zip archives, such as numpy's .npz files; internal to reading and writing those.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace dynet_like::detail::zip {

/// A file in an archive.
struct Member {
  std::string name;
  std::vector<std::byte> bytes;
};

/// The members of an archive, inflated, in the order of its directory. Throws FileError unless all
/// are whole, have names of their own and their checksums, are not encrypted, and are stored or
/// deflated. No size is larger than the archive's bytes can hold, and all deflated members together
/// inflate to at most `max_inflated_bytes`; this is checked before memory is taken.
std::vector<Member> read(const std::filesystem::path& path, std::uint64_t max_inflated_bytes);
/// The same for an archive in memory; `file` is its name in messages.
std::vector<Member> parse(std::span<const std::byte> archive, const std::string& file,
                          std::uint64_t max_inflated_bytes);

/// A member to write: two parts, the first of which is not empty. The name has 1 to 65,535 bytes,
/// none of them 0.
struct Parts {
  std::string name;
  std::array<std::span<const std::byte>, 2> bytes;
};

/// Writes an archive of stored members, whose names must be unique, atomically (see AtomicFile). It
/// is made in memory first. The same members give the same bytes. Throws FileError.
void write(const std::filesystem::path& path, std::span<const Parts> members);

}  // namespace dynet_like::detail::zip
