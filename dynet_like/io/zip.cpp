// Zip archives by libzip.
#include "dynet_like/io/zip.h"

#include <zip.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like::detail::zip {

namespace {

constexpr std::uint64_t kDeflateRatio = 1032;  // at best, two bits stand for 258 bytes

[[noreturn]] void fail(const std::string& file, const std::string& need, const std::string& got) {
  throw FileError(file, fmt::format("[npz] need {}; got {}", need, got));
}

/// libzip's description of an error, as the end of a sentence.
std::string text_of(zip_error_t* error) {
  return fmt::format("libzip's error \"{}\"", zip_error_strerror(error));
}

struct Free {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Free>;
using Source = std::unique_ptr<zip_source_t, Free>;

/// An error that libzip fills where there is no archive yet.
struct Error {
  Error() { zip_error_init(&value); }
  ~Error() { zip_error_fini(&value); }
  Error(const Error&) = delete;
  Error& operator=(const Error&) = delete;

  zip_error_t value;
};

/// Opens an archive, to which the source then belongs.
Archive open(Source source, int flags, const std::string& file, Error& error) {
  Archive archive(source ? zip_open_from_source(source.get(), flags, &error.value) : nullptr);
  if (!archive) fail(file, "a zip archive that is whole", text_of(&error.value));
  source.release();
  return archive;
}

/// Checks what the directory says of a member, before its bytes are read.
void check(const zip_stat_t& stat, std::uint64_t room, const std::string& file) {
  const std::string name = quoted_text(stat.name);
  if (stat.encryption_method != ZIP_EM_NONE) fail(file, "members that are not encrypted", name);
  const bool deflated = stat.comp_method == ZIP_CM_DEFLATE;
  if (!deflated && stat.comp_method != ZIP_CM_STORE) {
    fail(file, "members that are stored or deflated",
         fmt::format("method {} of {}", stat.comp_method, name));
  }
  // A size that lies costs no memory.
  const std::uint64_t least = stat.size / kDeflateRatio + (stat.size % kDeflateRatio != 0);
  if (deflated ? least > stat.comp_size : stat.size != stat.comp_size) {
    fail(file,
         fmt::format("{} of a size that {}", name,
                     counted(stat.comp_size, "byte holds", "bytes hold")),
         fmt::to_string(stat.size));
  }
  if (deflated && stat.size > room) {
    fail(file, fmt::format("at most {} more when all is inflated", counted(room, "byte")),
         fmt::format("{} of {}", stat.size, name));
  }
}

std::vector<std::byte> bytes_of(zip_t* archive, std::uint64_t index, const zip_stat_t& stat,
                                const std::string& file) {
  const std::unique_ptr<zip_file_t, Free> member(zip_fopen_index(archive, index, 0));
  if (!member) fail(file, quoted_text(stat.name) + " to read", text_of(zip_get_error(archive)));
  std::vector<std::byte> bytes(stat.size);
  std::span<std::byte> rest = bytes;
  zip_int64_t count = 1;
  while (!rest.empty() && count > 0) {
    count = zip_fread(member.get(), rest.data(), rest.size());
    rest = rest.subspan(static_cast<std::size_t>(std::max<zip_int64_t>(count, 0)));
  }
  // At the end, libzip compares the checksum.
  std::byte more{};
  if (count > 0 || stat.size == 0) count = zip_fread(member.get(), &more, 1);
  if (count != 0 || !rest.empty()) {
    fail(file,
         fmt::format("{} of {}, with their checksum", counted(stat.size, "byte"),
                     quoted_text(stat.name)),
         count > 0    ? "more"
         : count == 0 ? "fewer"
                      : text_of(zip_file_get_error(member.get())));
  }
  return bytes;
}

std::vector<Member> read_all(Source source, const std::string& file, Error& error,
                             std::uint64_t max_inflated_bytes) {
  const Archive archive = open(std::move(source), ZIP_RDONLY | ZIP_CHECKCONS, file, error);
  std::vector<Member> members;
  std::uint64_t room = max_inflated_bytes;
  const auto count = static_cast<std::uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (std::uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &stat) != 0) {
      fail(file, "members with names and sizes", text_of(zip_get_error(archive.get())));
    }
    check(stat, room, file);
    if (stat.comp_method == ZIP_CM_DEFLATE) room -= stat.size;
    members.push_back({stat.name, bytes_of(archive.get(), i, stat, file)});
  }
  return members;
}

}  // namespace

std::vector<Member> read(const std::filesystem::path& path, std::uint64_t max_inflated_bytes) {
  Error error;
  Source source(zip_source_file_create(path.c_str(), 0, -1, &error.value));
  return read_all(std::move(source), path.string(), error, max_inflated_bytes);
}

std::vector<Member> parse(std::span<const std::byte> archive, const std::string& file,
                          std::uint64_t max_inflated_bytes) {
  Error error;
  Source source(zip_source_buffer_create(archive.data(), archive.size(), 0, &error.value));
  return read_all(std::move(source), file, error, max_inflated_bytes);
}

void write(const std::filesystem::path& path, std::span<const Parts> members) {
  constexpr std::uint16_t kDate = 33;  // 1 January 1980, so that the bytes do not depend on the day
  // libzip writes no archive without members.
  if (members.empty()) return write_atomically(path, "PK\5\6" + std::string(18, '\0'));
  AtomicFile file(path);
  Error error;
  const Source target(zip_source_buffer_create(nullptr, 0, 0, &error.value));
  if (target) zip_source_keep(target.get());  // for the archive
  Archive archive = open(Source(target.get()), ZIP_TRUNCATE, path.string(), error);
  for (const Parts& member : members) {
    std::array<zip_buffer_fragment_t, 2> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      // libzip only reads here, but takes a pointer to non-const.
      auto* const data = const_cast<std::byte*>(member.bytes[i].data());
      parts[i] = {reinterpret_cast<zip_uint8_t*>(data), member.bytes[i].size()};
    }
    Source source(zip_source_buffer_fragment(archive.get(), parts.data(),
                                             member.bytes[1].empty() ? 1 : 2, 0));
    const std::int64_t index =
        zip_file_add(archive.get(), member.name.c_str(), source.get(), ZIP_FL_ENC_UTF_8);
    if (index < 0) break;  // which the number of members tells
    source.release();
    zip_set_file_compression(archive.get(), static_cast<std::uint64_t>(index), ZIP_CM_STORE, 0);
    zip_file_set_dostime(archive.get(), static_cast<std::uint64_t>(index), 0, kDate, 0);
  }
  const auto count = static_cast<std::uint64_t>(zip_get_num_entries(archive.get(), 0));
  if (count != members.size() || zip_close(archive.get()) != 0) {
    fail(path.string(), "an archive that libzip makes", text_of(zip_get_error(archive.get())));
  }
  archive.release();  // which zip_close has freed
  std::vector<std::byte> block(1 << 20);
  zip_source_open(target.get());
  while (const std::int64_t size = zip_source_read(target.get(), block.data(), block.size())) {
    if (size < 0)
      fail(path.string(), "to read the archive", text_of(zip_source_error(target.get())));
    file.write(std::span(block).first(static_cast<std::size_t>(size)));
  }
  file.commit();
}

}  // namespace dynet_like::detail::zip
