// A file that appears whole or not at all. Every save uses it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace dynet_like::detail {

/// Writes to a temporary file in the same folder, and commit() renames it to `path`. So if a save
/// fails or is killed, the previous file stays. Without commit() the temporary file is removed;
/// that of a killed program is removed by the next save in the folder. Every member throws
/// FileError with the system's reason.
class AtomicFile {
 public:
  /// `path` must be new or a regular file, whose permissions are kept. A symbolic link is followed.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Waits until the bytes are on the disk, then replaces the previous file.
  void commit();

 private:
  void create_temporary();
  [[noreturn]] void fail(const char* need) const;

  std::filesystem::path path_, folder_, temporary_;
  int descriptor_ = -1;
};

/// Writes a whole file at once. Throws as AtomicFile does.
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace dynet_like::detail
