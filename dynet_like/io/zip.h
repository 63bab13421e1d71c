// Zip archives in memory: what numpy's .npz files are; internal to reading and writing those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/io/atomic_file.h"

namespace dynet_like::detail::zip {

// The format is PKWARE's APPNOTE.TXT 6.3; sizes and offsets of 2^32 - 1 bytes and more, and as many
// as 2^16 - 1 members, are what it calls Zip64.

/// A file in an archive.
struct Member {
  std::string name;
  bool deflated = false;             ///< else stored
  std::span<const std::byte> bytes;  ///< in the archive
  std::uint64_t size = 0;            ///< when it is inflated
  std::uint32_t crc = 0;             ///< of the inflated bytes
};

/// The members of an archive in the order of their bytes. Throws FileError, with `file` as its
/// name, unless all are whole, apart from each other, not encrypted, and stored or deflated. No
/// size is larger than what the bytes can hold, and deflated ones make at most
/// `max_inflated_bytes`.
std::vector<Member> members(std::span<const std::byte> archive, const std::string& file,
                            std::uint64_t max_inflated_bytes);

/// The inflated bytes of a deflated member. Throws FileError where they are not as the archive
/// says.
std::vector<std::byte> inflate(const Member& member, const std::string& file);
/// Throws FileError unless these are the bytes of which the archive has the checksum.
void check(const Member& member, std::span<const std::byte> bytes, const std::string& file);

/// Writes an archive of stored members, with the same bytes for the same members.
class Writer {
 public:
  /// Numbers from `wide_from` on are written as Zip64 has them; less than the default is for tests.
  explicit Writer(AtomicFile& file, std::uint64_t wide_from = 0xffffffff)
      : file_(file), wide_from_(wide_from) {}

  /// Adds a member of two parts. The name must have 1 to 65,535 bytes and none of them 0.
  void add(std::string_view name, std::span<const std::byte> first,
           std::span<const std::byte> second);
  /// Writes the directory. Nothing may be added behind it.
  void finish();

 private:
  void write(std::string_view text);

  AtomicFile& file_;
  const std::uint64_t wide_from_;
  std::uint64_t position_ = 0, count_ = 0;
  std::string directory_;
};

}  // namespace dynet_like::detail::zip
