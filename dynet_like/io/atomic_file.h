// A file that appears whole or not at all: what every save goes through.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace dynet_like::detail {

/// Writes to a temporary file in the same folder and renames it over `path` on commit(), so that
/// a failed or killed save leaves the previous file. Without commit() nothing stays behind, but
/// for the temporary file of a killed program, which the next save in that folder removes.
/// Every member throws FileError with the system's reason.
class AtomicFile {
 public:
  /// `path` must not exist or be a regular file, whose permissions are kept; a symbolic link is
  /// followed.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Waits until the bytes are on the disk and puts them in the place of the previous file.
  void commit();

 private:
  void create_temporary();
  [[noreturn]] void fail(const char* need) const;

  std::filesystem::path path_, folder_, temporary_;
  int descriptor_ = -1;
};

/// A whole file at once. Throws as AtomicFile does.
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace dynet_like::detail
