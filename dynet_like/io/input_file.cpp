// InputFile on POSIX.
#include "dynet_like/io/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kReadLimit = std::size_t{1} << 30;  // a system call's limit is 2 GiB

std::string system_reason() { return std::generic_category().message(errno); }

}  // namespace

InputFile::InputFile(const std::filesystem::path& path, const char* format)
    : name_(path.string()), format_(format) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail("a file to read", system_reason());
}

InputFile::~InputFile() { ::close(descriptor_); }

std::uint64_t InputFile::size() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) fail("a regular file", system_reason());
  if (!S_ISREG(status.st_mode)) fail("a regular file", "another kind of file");
  return static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = ::read(descriptor_, bytes.data(), std::min(bytes.size(), kReadLimit));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("to read the file", system_reason());
    if (count == 0) fail(fmt::format("{} more", counted(bytes.size(), "byte")), "the end");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

Block InputFile::read(std::uint64_t size) {
  Block bytes;
  try {
    bytes = Block(size);
  } catch (const DeviceError&) {
    fail(fmt::format("memory for {} of data", counted(size, "byte")), "less");
  }
  read(std::span(bytes.data(), bytes.size()));
  return bytes;
}

std::string read_text(const std::filesystem::path& path, const char* format,
                      std::uint64_t most_bytes) {
  InputFile file(path, format);
  if (file.size() > most_bytes) {
    throw FileError(path.string(), fmt::format("[{}] need a file of at most {}; got {}", format,
                                               counted(most_bytes, "byte"), file.size()));
  }
  std::string text(file.size(), ' ');
  file.read(std::as_writable_bytes(std::span(text)));
  return text;
}

void InputFile::fail(const std::string& need, const std::string& got) const {
  throw FileError(name_, fmt::format("[{}] need {}; got {}", format_, need, got));
}

}  // namespace dynet_like::detail
