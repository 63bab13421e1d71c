// A regular file that is read from beginning to end; internal to readers of formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "dynet_like/core/memory.h"

namespace dynet_like::detail {

/// An open file. Every member throws FileError, whose message begins with the name of the format.
class InputFile {
 public:
  InputFile(const std::filesystem::path& path, const char* format);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const;
  /// Fills the whole span with the next bytes.
  void read(std::span<std::byte> bytes);
  /// Returns the next bytes.
  Block read(std::uint64_t size);

 private:
  [[noreturn]] void fail(const std::string& need, const std::string& got) const;

  std::string name_, format_;
  int descriptor_;
};

/// The contents of a file of at most so many bytes. Throws what InputFile throws.
std::string read_text(const std::filesystem::path& path, const char* format,
                      std::uint64_t most_bytes);

}  // namespace dynet_like::detail
