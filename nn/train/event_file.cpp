// EventFile: records of protocol buffers, with checksums.
#include "nn/train/event_file.h"

#include <bit>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  }
  return bytes;
}

// Checksums of records are rotated, plus a constant.
std::string masked_crc(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xA282EAD8u);
}

// Fields of a protocol buffer: the field's number and kind, then a value of that kind.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7F) | 0x80);
  return bytes + static_cast<char>(number);
}
std::string bytes_field(unsigned field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

// Of event.proto: Event has wall_time 1, step 2, file_version 3 and summary 5.
std::string event_now() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return varint(1 << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(now.count()));
}
// Of summary.proto: Summary has value 1; a value has tag 1 and simple_value 2.
std::string scalar_event(std::string_view tag, std::uint64_t step, float value) {
  const std::string scalar =
      bytes_field(1, tag) + varint(2 << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
  return event_now() + varint(2 << 3) + varint(step) + bytes_field(5, bytes_field(1, scalar));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& path)
    : name_(path.string()), out_(path, std::ios::binary | std::ios::app) {
  if (out_.tellp() <= 0) append(event_now() + bytes_field(3, "brain.Event:2"));
}

void EventFile::add(std::string_view tag, std::uint64_t step, float value) {
  append(scalar_event(tag, step, value));
}

// A record consists of the length, its checksum, the bytes and their checksum.
void EventFile::append(const std::string& event) {
  const std::string length = little_endian(std::uint64_t{event.size()});
  out_ << length << masked_crc(length) << event << masked_crc(event) << std::flush;
  if (out_) return;
  throw FileError(name_,
                  fmt::format("need to write it; got: {}", std::generic_category().message(errno)));
}

}  // namespace dynet_like::nn
