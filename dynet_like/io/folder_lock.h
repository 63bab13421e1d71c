// A folder in which one program at a time writes.
#pragma once

#include <filesystem>

namespace dynet_like::detail {

/// While it lives, no other FolderLock, in this program or another, can lock the same folder. It
/// locks a file in the folder. If a program is killed, the system ends its lock. On a file system
/// without locks it has no effect.
class FolderLock {
 public:
  /// Throws FileError if the folder is locked, and names the process, or if it cannot be written
  /// in.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace dynet_like::detail
