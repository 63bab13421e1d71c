// A folder in which one program at a time writes.
#pragma once

#include <filesystem>

namespace dynet_like::detail {

/// Keeps other programs, and others in this one, from the same folder as long as it lives, by a
/// locked file in it. The system ends the lock of a program that was killed. Where the file system
/// has no locks, nobody is kept from anything.
class FolderLock {
 public:
  /// Throws FileError if another one has the folder, and says which process, or if it is not there
  /// to write in.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace dynet_like::detail
