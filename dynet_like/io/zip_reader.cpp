// Reads zip archives. The directory at the end says where everything is; all of it is checked.
#include <algorithm>
#include <exception>
#include <new>
#include <set>

#include <fmt/format.h>
#include <zlib.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/checksum.h"
#include "dynet_like/io/zip.h"

namespace dynet_like::detail::zip {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kWideEndBytes = 56,
                      kLocatorBytes = 20, kCommentLimit = 65535;
constexpr std::uint64_t kNarrow = 0xffffffff;  // marks a number that needs more bytes
constexpr std::uint64_t kDeflateRatio = 1032;  // at best, two bits stand for 258 bytes

[[noreturn]] void fail(const std::string& file, const std::string& need, const std::string& got) {
  throw FileError(file, fmt::format("[npz] need {}; got {}", need, got));
}

std::uint64_t number_at(Bytes bytes, std::size_t place, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = count; i-- > 0;) {
    number = number << 8 | std::to_integer<std::uint64_t>(bytes[place + i]);
  }
  return number;
}

std::string text_at(Bytes bytes, std::size_t place, std::size_t count) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data()) + place;
  return {begin, begin + count};
}

bool has_signature(Bytes bytes, std::string_view signature) {
  return bytes.size() >= 4 && text_at(bytes, 0, 4) == signature;
}

/// The directory of the members.
struct Directory {
  Bytes bytes;
  std::uint64_t begin, count;
};

/// Finds the record at the end of the archive. A comment may follow it.
std::size_t find_end(Bytes archive, const std::string& file) {
  const std::size_t size = archive.size();
  for (std::size_t back = kEndBytes; back <= size && back <= kEndBytes + kCommentLimit; ++back) {
    const Bytes end = archive.last(back);
    if (has_signature(end, "PK\5\6") && number_at(end, 20, 2) == back - kEndBytes) {
      return size - back;
    }
  }
  fail(file, "a zip archive with a directory at its end", "none");
}

Directory find_directory(Bytes archive, const std::string& file) {
  std::size_t end_begin = find_end(archive, file);
  const Bytes end = archive.subspan(end_begin);
  std::uint64_t disks = number_at(end, 4, 2) | number_at(end, 6, 2);
  std::uint64_t count = number_at(end, 10, 2), total = number_at(end, 8, 2);
  std::uint64_t size = number_at(end, 12, 4), begin = number_at(end, 16, 4);
  const bool has_locator = end_begin >= kLocatorBytes + kWideEndBytes &&
                           has_signature(archive.subspan(end_begin - kLocatorBytes), "PK\6\7");
  if (has_locator) {
    const std::uint64_t wide_begin = number_at(archive.subspan(end_begin - kLocatorBytes), 8, 8);
    if (wide_begin > end_begin - kLocatorBytes - kWideEndBytes ||
        !has_signature(archive.subspan(wide_begin), "PK\6\6")) {
      fail(file, "a Zip64 record where its locator says", "none");
    }
    const Bytes wide = archive.subspan(wide_begin);
    disks = number_at(wide, 16, 4) | number_at(wide, 20, 4);
    total = number_at(wide, 24, 8);
    count = number_at(wide, 32, 8);
    size = number_at(wide, 40, 8);
    begin = number_at(wide, 48, 8);
    end_begin = wide_begin;
  }
  if (disks != 0 || total != count) fail(file, "a zip archive in one part", "one in several");
  if (begin > end_begin || size != end_begin - begin || count > size / kEntryBytes) {
    fail(file, fmt::format("a directory that ends at byte {}", end_begin),
         fmt::format("{} in {} from byte {}", counted(count, "member"), counted(size, "byte"),
                     begin));
  }
  return {archive.subspan(begin, size), begin, count};
}

/// The directory's entry of a member.
struct Entry {
  std::string name;
  std::uint64_t flags, method, packed, size, begin, crc;
};

/// Zip64: numbers that do not fit are in an extra field, in this order.
void read_wide_numbers(Bytes extra, Entry& entry, const std::string& file) {
  std::vector<std::uint64_t*> wide;
  for (std::uint64_t* number : {&entry.size, &entry.packed, &entry.begin}) {
    if (*number == kNarrow) wide.push_back(number);
  }
  while (!wide.empty()) {
    const std::uint64_t bytes = extra.size() < 4 ? 0 : number_at(extra, 2, 2);
    if (extra.size() < 4 || bytes > extra.size() - 4) {
      fail(file, "a Zip64 field for the large sizes of " + quoted_text(entry.name), "none");
    }
    const bool is_wide = number_at(extra, 0, 2) == 1;
    const Bytes field = extra.subspan(4, bytes);
    extra = extra.subspan(4 + bytes);
    if (!is_wide) continue;
    if (bytes < 8 * wide.size()) {
      fail(file, fmt::format("{} Zip64 numbers for {}", wide.size(), quoted_text(entry.name)),
           counted(bytes, "byte"));
    }
    for (std::size_t i = 0; i < wide.size(); ++i) *wide[i] = number_at(field, 8 * i, 8);
    return;
  }
}

Entry read_entry(Bytes& rest, const std::string& file) {
  if (rest.size() < kEntryBytes || !has_signature(rest, "PK\1\2")) {
    fail(file, "a member in its directory", "other bytes");
  }
  const std::size_t name = number_at(rest, 28, 2), extra = number_at(rest, 30, 2),
                    comment = number_at(rest, 32, 2);
  if (name + extra + comment > rest.size() - kEntryBytes) {
    fail(file, "a directory with all that it has of its members", "its end");
  }
  Entry entry = {text_at(rest, kEntryBytes, name),
                 number_at(rest, 8, 2),
                 number_at(rest, 10, 2),
                 number_at(rest, 20, 4),
                 number_at(rest, 24, 4),
                 number_at(rest, 42, 4),
                 number_at(rest, 16, 4)};
  read_wide_numbers(rest.subspan(kEntryBytes + name, extra), entry, file);
  rest = rest.subspan(kEntryBytes + name + extra + comment);
  const std::string shown = quoted_text(entry.name);
  if (entry.flags & 1) fail(file, "members that are not encrypted", shown);
  if (entry.method != 0 && entry.method != 8) {
    fail(file, "members that are stored or deflated",
         fmt::format("method {} of {}", entry.method, shown));
  }
  // Checks the claimed size against the member's bytes, so that a false size costs no memory.
  const std::uint64_t least = entry.size / kDeflateRatio + (entry.size % kDeflateRatio != 0);
  if (entry.method == 0 ? entry.size != entry.packed : least > entry.packed) {
    fail(file,
         fmt::format("{} of a size that {}", shown,
                     counted(entry.packed, "byte holds", "bytes hold")),
         fmt::to_string(entry.size));
  }
  return entry;
}

/// The member's bytes, which follow a header of their own.
Bytes bytes_of(const Entry& entry, Bytes archive, std::uint64_t& free_from,
               const std::string& file) {
  const std::string shown = quoted_text(entry.name);
  if (entry.begin < free_from || entry.begin > archive.size() ||
      archive.size() - entry.begin < kLocalBytes) {
    fail(file, fmt::format("{} between bytes {} and {}", shown, free_from, archive.size()),
         fmt::format("byte {}", entry.begin));
  }
  const Bytes local = archive.subspan(entry.begin);
  const std::size_t name = number_at(local, 26, 2), extra = number_at(local, 28, 2);
  const std::size_t header = kLocalBytes + name + extra;
  if (!has_signature(local, "PK\3\4") || header > local.size() ||
      entry.packed > local.size() - header || text_at(local, kLocalBytes, name) != entry.name) {
    fail(
        file,
        fmt::format("{} and its {} where the directory says", shown, counted(entry.packed, "byte")),
        "something else");
  }
  free_from = entry.begin + header + entry.packed;
  return local.subspan(header, entry.packed);
}

}  // namespace

std::vector<Member> members(std::span<const std::byte> archive, const std::string& file,
                            std::uint64_t max_inflated_bytes) {
  const Directory directory = find_directory(archive, file);
  std::vector<Entry> entries;
  std::set<std::string_view> names;
  Bytes rest = directory.bytes;
  for (std::uint64_t i = 0; i < directory.count; ++i) entries.push_back(read_entry(rest, file));
  if (!rest.empty()) fail(file, "nothing behind the members of a directory", "other bytes");
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  std::vector<Member> result;
  std::uint64_t free_from = 0, total = 0;
  for (const Entry& entry : entries) {
    if (!names.insert(entry.name).second) {
      fail(file, "unique names", quoted_text(entry.name) + " twice");
    }
    const std::uint64_t inflated = entry.method == 0 ? 0 : entry.size;
    if (inflated > max_inflated_bytes - total) {
      fail(file,
           fmt::format("at most {} when all is inflated", counted(max_inflated_bytes, "byte")),
           "more");
    }
    total += inflated;
    const Bytes bytes = bytes_of(entry, archive.first(directory.begin), free_from, file);
    result.push_back(
        {entry.name, entry.method == 8, bytes, entry.size, static_cast<std::uint32_t>(entry.crc)});
  }
  return result;
}

std::vector<std::byte> inflate(const Member& member, const std::string& file) {
  constexpr std::size_t kChunk = std::size_t{1} << 30;  // zlib counts in 32 bits
  std::vector<std::byte> result;
  try {
    result.resize(member.size);
  } catch (const std::exception&) {  // bad_alloc or length_error
    fail(file, fmt::format("memory for {} of data", counted(member.size, "byte")), "less");
  }
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  // zlib only reads here, but older versions take a pointer to non-const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(member.bytes.data()));
  std::byte nothing{};  // gives zlib a non-null pointer for an empty member
  stream.next_out = reinterpret_cast<Bytef*>(result.empty() ? &nothing : result.data());
  std::size_t in = member.bytes.size(), out = result.size();
  int status = Z_OK;
  while (status == Z_OK) {
    const auto given = static_cast<uInt>(std::min(in, kChunk));
    const auto room = static_cast<uInt>(std::min(out, kChunk));
    stream.avail_in = given;
    stream.avail_out = room;
    status = ::inflate(&stream, Z_NO_FLUSH);
    in -= given - stream.avail_in;
    out -= room - stream.avail_out;
  }
  ::inflateEnd(&stream);
  if (status != Z_STREAM_END || in != 0 || out != 0) {
    fail(file,
         fmt::format("{} when {} is inflated", counted(member.size, "byte"),
                     quoted_text(member.name)),
         "others");
  }
  return result;
}

void check(const Member& member, std::span<const std::byte> bytes, const std::string& file) {
  const std::uint32_t sum = checksum(bytes);
  if (sum == member.crc) return;
  fail(file,
       fmt::format("bytes with the checksum {} in {}", checksum_text(member.crc),
                   quoted_text(member.name)),
       checksum_text(sum));
}

}  // namespace dynet_like::detail::zip
