// AtomicFile on POSIX: O_EXCL temporary, fsync, rename, fsync of the folder.
#include "dynet_like/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

// Linux writes at most 0x7ffff000 bytes a call.
constexpr std::size_t kWriteLimit = std::size_t{1} << 30;
constexpr int kNameAttempts = 100;

// A folder's entry is on the disk only after the folder is; some file systems cannot do it.
bool sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES;
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return synced;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (std::filesystem::is_symlink(path_, error)) {
    auto target = std::filesystem::weakly_canonical(path_, error);
    if (!error) path_ = std::move(target);
  }
  folder_ = path_.has_parent_path() ? path_.parent_path() : ".";
  struct stat previous = {};
  const bool exists = ::stat(path_.c_str(), &previous) == 0;
  if (exists && !S_ISREG(previous.st_mode)) {
    throw FileError(path_.string(), "[save] need a regular file or none; got another kind of file");
  }
  create_temporary();
  // Only tightens or restores what the user chose; a file system without permissions may refuse.
  if (exists && ::fchmod(descriptor_, previous.st_mode & 07777) != 0) errno = 0;
}

void AtomicFile::create_temporary() {
  std::random_device random;
  for (int attempt = 0; attempt < kNameAttempts && descriptor_ < 0; ++attempt) {
    temporary_ = folder_ / fmt::format(".{:08x}.dynet_like.tmp", random());
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) fail("a folder to write in");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written =
        ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), kWriteLimit));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("to write the temporary file");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::close_descriptor() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && errno != EINTR) fail("to close the temporary file");
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("to flush the temporary file");
  close_descriptor();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("to rename the temporary file");
  temporary_.clear();
  if (!sync_folder(folder_)) fail("to flush the folder");
}

void AtomicFile::fail(const char* need) const {
  const std::string reason = std::generic_category().message(errno);
  throw FileError(path_.string(), fmt::format("[save] need {}; got: {}", need, reason));
}

}  // namespace dynet_like
