// Zip archives in memory, such as numpy's .npz files; internal to reading and writing those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/io/atomic_file.h"

namespace dynet_like::detail::zip {

// The format is PKWARE's APPNOTE.TXT 6.3. From 2^32 - 1 bytes or 2^16 - 1 members on, it is the
// variant Zip64.

/// A file in an archive.
struct Member {
  std::string name;
  bool deflated = false;             ///< or else stored
  std::span<const std::byte> bytes;  ///< in the archive
  std::uint64_t size = 0;            ///< after inflation
  std::uint32_t crc = 0;             ///< of the inflated bytes
};

/// The members of an archive in the order of their bytes. Throws FileError, with `file` as the
/// name, unless all are complete, do not overlap, are not encrypted, and are stored or deflated. No
/// size is larger than the member's bytes can hold, and all deflated members together inflate to at
/// most `max_inflated_bytes`.
std::vector<Member> members(std::span<const std::byte> archive, const std::string& file,
                            std::uint64_t max_inflated_bytes);

/// Inflates a deflated member. Throws FileError if that fails or gives another size.
std::vector<std::byte> inflate(const Member& member, const std::string& file);
/// Throws FileError unless these bytes fit the archive's checksum of the member.
void check(const Member& member, std::span<const std::byte> bytes, const std::string& file);

/// Writes an archive of stored members. The same members give the same bytes.
class Writer {
 public:
  /// Numbers from `wide_from` on are written in the form of Zip64; tests lower the limit.
  explicit Writer(AtomicFile& file, std::uint64_t wide_from = 0xffffffff)
      : file_(file), wide_from_(wide_from) {}

  /// Adds a member, given in two parts. The name must have 1 to 65,535 bytes, none of them 0.
  void add(std::string_view name, std::span<const std::byte> first,
           std::span<const std::byte> second);
  /// Writes the directory. Nothing may be added after it.
  void finish();

 private:
  void write(std::string_view text);

  AtomicFile& file_;
  const std::uint64_t wide_from_;
  std::uint64_t position_ = 0, count_ = 0;
  std::string directory_;
};

}  // namespace dynet_like::detail::zip
