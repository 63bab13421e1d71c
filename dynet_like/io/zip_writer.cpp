// Writes zip archives: stored members, then the directory.
#include <algorithm>
#include <initializer_list>

#include "dynet_like/io/checksum.h"
#include "dynet_like/io/zip.h"

namespace dynet_like::detail::zip {

namespace {

constexpr std::uint64_t kNarrow = 0xffffffff, kNarrowCount = 0xffff;
constexpr std::uint64_t kVersion = 45;           // the first version with Zip64
constexpr std::uint64_t kUtf8 = 0x800;           // names are UTF-8
constexpr std::uint64_t kDate = 33;              // always 1 January 1980
constexpr std::uint64_t kUnix = 3 << 8;          // the permissions that follow are Unix's
constexpr std::uint64_t kFile = 0100644u << 16;  // a regular file that its owner may write to

struct Number {
  std::uint64_t value;
  std::size_t bytes;
};

std::string little_endian(std::initializer_list<Number> numbers) {
  std::string text;
  for (const auto& [value, bytes] : numbers) {
    for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

}  // namespace

void Writer::add(std::string_view name, std::span<const std::byte> first,
                 std::span<const std::byte> second) {
  const std::uint64_t size = first.size() + second.size(), crc = checksum(second, checksum(first));
  const bool wide = std::max(size, position_) >= wide_from_;
  const std::uint64_t short_size = wide ? kNarrow : size, short_begin = wide ? kNarrow : position_;
  const std::string extra =
      wide ? little_endian({{1, 2}, {24, 2}, {size, 8}, {size, 8}, {position_, 8}}) : "";
  const std::string local_extra =
      wide ? little_endian({{1, 2}, {16, 2}, {size, 8}, {size, 8}}) : "";
  // Common to both headers: flags, method, time, date, checksum, sizes, and the length of the name.
  const std::string common = little_endian({{kUtf8, 2}, {0, 2}, {0, 2}, {kDate, 2}, {crc, 4}}) +
                             little_endian({{short_size, 4}, {short_size, 4}, {name.size(), 2}});
  directory_ += "PK\1\2" + little_endian({{kUnix | kVersion, 2}, {kVersion, 2}}) + common;
  // No comment, the first disk, no text file, attributes.
  directory_ += little_endian({{extra.size(), 2}, {0, 2}, {0, 2}, {0, 2}, {kFile, 4}});
  directory_ += little_endian({{short_begin, 4}});
  directory_.append(name).append(extra);
  write("PK\3\4" + little_endian({{kVersion, 2}}) + common +
        little_endian({{local_extra.size(), 2}}) + std::string(name) + local_extra);
  file_.write(first);
  file_.write(second);
  position_ += size;
  ++count_;
}

void Writer::finish() {
  const std::uint64_t begin = position_, size = directory_.size();
  write(directory_);
  const bool wide = std::max({begin, size, count_ + (kNarrow - kNarrowCount)}) >= wide_from_;
  if (wide) {
    const std::uint64_t wide_begin = position_;
    // The size of the rest, versions, disks, and the same numbers as in the record below.
    write("PK\6\6" + little_endian({{44, 8}, {kVersion, 2}, {kVersion, 2}, {0, 4}, {0, 4}}) +
          little_endian({{count_, 8}, {count_, 8}, {size, 8}, {begin, 8}}));
    write("PK\6\7" + little_endian({{0, 4}, {wide_begin, 8}, {1, 4}}));
  }
  const std::uint64_t short_count = wide ? kNarrowCount : count_;
  write("PK\5\6" + little_endian({{0, 2}, {0, 2}, {short_count, 2}, {short_count, 2}}) +
        little_endian({{wide ? kNarrow : size, 4}, {wide ? kNarrow : begin, 4}, {0, 2}}));
}

void Writer::write(std::string_view text) {
  file_.write(std::as_bytes(std::span(text)));
  position_ += text.size();
}

}  // namespace dynet_like::detail::zip
