// EventFile: records of protocol buffers, with checksums.
#include "nn/train/event_file.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

// A record consists of the length, its checksum, the bytes and their checksum.
constexpr std::size_t kHeader = 12, kTrailer = 4;
constexpr std::uint64_t kMostBytes = 1 << 20;  // of a record that is read
constexpr std::size_t kMostTagBytes = 1 << 16;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}

template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  }
  return bytes;
}

template <class Number>
Number read_little_endian(const char* bytes) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return number;
}

std::string record_of(std::string_view bytes) {
  const std::string length = little_endian(std::uint64_t{bytes.size()});
  return length + little_endian(masked_crc32c(length)) + std::string(bytes) +
         little_endian(masked_crc32c(bytes));
}

// Fields of a protocol buffer: a tag, then a value of the kind that the tag names.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7F) | 0x80);
  return bytes + static_cast<char>(number);
}
std::string varint_field(unsigned field, std::uint64_t number) {
  return varint(field << 3) + varint(number);
}
std::string double_field(unsigned field, double number) {
  return varint(field << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(number));
}
std::string bytes_field(unsigned field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string float_field(unsigned field, float number) {
  return varint(field << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(number));
}

// Of event.proto: Event has wall_time 1, step 2, file_version 3 and summary 5.
std::string event_now() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return double_field(1, now.count());
}
// Of summary.proto: Summary has value 1; a value has tag 1 and simple_value 2.
std::string scalar_event(std::string_view tag, std::uint64_t step, float value) {
  const std::string scalar = bytes_field(1, tag) + float_field(2, value);
  return event_now() + varint_field(2, step) + bytes_field(5, bytes_field(1, scalar));
}

[[noreturn]] void fail(const std::filesystem::path& path, const char* need) {
  const std::string reason = std::generic_category().message(errno);
  throw FileError(path.string(), fmt::format("need {}; got: {}", need, reason));
}

std::string read_at(int descriptor, const std::filesystem::path& path, std::uint64_t at,
                    std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t some =
        ::pread(descriptor, bytes.data() + done, count - done, static_cast<off_t>(at + done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) fail(path, "to read it");
    if (some == 0) break;
    done += static_cast<std::size_t>(some);
  }
  bytes.resize(done);
  return bytes;
}

/// The size of the complete records at the start of a file.
std::uint64_t whole_records(int descriptor, const std::filesystem::path& path) {
  for (std::uint64_t at = 0;;) {
    const std::string header = read_at(descriptor, path, at, kHeader);
    if (header.size() < kHeader) return at;
    const auto length = read_little_endian<std::uint64_t>(header.data());
    if (read_little_endian<std::uint32_t>(&header[8]) != masked_crc32c(header.substr(0, 8)) ||
        length > kMostBytes) {
      return at;
    }
    const std::string rest = read_at(descriptor, path, at + kHeader, length + kTrailer);
    if (rest.size() < length + kTrailer ||
        read_little_endian<std::uint32_t>(&rest[length]) !=
            masked_crc32c(std::string_view(rest).substr(0, length))) {
      return at;
    }
    at += kHeader + length + kTrailer;
  }
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u;
}

EventFile::EventFile(const std::filesystem::path& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(path, "to open it");
  try {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) fail(path, "to read it");
    size_ = whole_records(descriptor_, path);
    if (size_ == 0 && status.st_size > 0) {
      throw FileError(path.string(), "need an event file or none; got another file");
    }
    if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) fail(path, "to write it");
    if (size_ == 0) append(event_now() + bytes_field(3, "brain.Event:2"));
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

EventFile::~EventFile() { ::close(descriptor_); }

void EventFile::add(std::string_view tag, std::uint64_t step, float value) {
  if (tag.size() > kMostTagBytes) {
    throw UsageError(fmt::format("[EventFile] need a tag of at most {} bytes; got {}",
                                 kMostTagBytes, tag.size()));
  }
  append(scalar_event(tag, step, value));
}

void EventFile::append(std::string_view event) {
  const std::string record = record_of(event);
  std::size_t done = 0;
  while (done < record.size()) {
    const ssize_t some = ::pwrite(descriptor_, record.data() + done, record.size() - done,
                                  static_cast<off_t>(size_ + done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) {
      const int reason = errno;
      // If truncation fails, the next record overwrites the rest.
      [[maybe_unused]] const int result = ::ftruncate(descriptor_, static_cast<off_t>(size_));
      errno = reason;
      fail(path_, "to write it");
    }
    done += static_cast<std::size_t>(some);
  }
  size_ += record.size();
}

}  // namespace dynet_like::nn
