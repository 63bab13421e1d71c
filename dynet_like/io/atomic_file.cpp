// AtomicFile on POSIX: a temporary file that is created with O_EXCL and locked; then fsync, rename,
// fsync of the folder.
#include "dynet_like/io/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

// Linux writes at most 0x7ffff000 bytes per call.
constexpr std::size_t kWriteLimit = std::size_t{1} << 30;
constexpr int kNameAttempts = 100;
constexpr std::string_view kEnding = ".dynet_like.tmp";
constexpr std::size_t kRandomDigits = 8;

bool is_temporary(std::string_view name) {
  return name.size() == 1 + kRandomDigits + kEnding.size() && name.starts_with('.') &&
         name.ends_with(kEnding);
}

// Removes temporary files of killed programs. A program locks its temporary file, and the lock ends
// with the program: a file that we can lock is abandoned. On file systems without locks nothing is
// removed. (The iterators of <filesystem> end the program when memory runs out, so this uses
// readdir.)
void remove_abandoned(const std::filesystem::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (directory == nullptr) return;
  const int at = ::dirfd(directory.get());
  while (const dirent* entry = ::readdir(directory.get())) {
    if (!is_temporary(entry->d_name)) continue;
    // A file with such a name may be a link or a pipe: do not follow the one or wait for the other.
    constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int descriptor = ::openat(at, entry->d_name, kFlags);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlinkat(at, entry->d_name, 0);
    ::close(descriptor);
  }
}

// False if another program removed the file, or is about to.
bool lock_new_file(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

// A new file name is on the disk only after fsync of its folder. Some file systems cannot do that.
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
  remove_abandoned(folder_);
  create_temporary();
  // Keeps the permissions of the previous file. A file system without permissions may refuse.
  if (exists && ::fchmod(descriptor_, previous.st_mode & 07777) != 0) errno = 0;
}

void AtomicFile::create_temporary() {
  std::random_device random;
  for (int attempt = 0; attempt < kNameAttempts && descriptor_ < 0; ++attempt) {
    temporary_ = folder_ / fmt::format(".{:0{}x}{}", random(), kRandomDigits, kEnding);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
    if (descriptor_ >= 0 && !lock_new_file(descriptor_)) ::close(std::exchange(descriptor_, -1));
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

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("to flush the temporary file");
  // Keep it open until it is renamed: without its lock it would look abandoned.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("to rename the temporary file");
  temporary_.clear();
  if (!sync_folder(folder_)) fail("to flush the folder");
}

void AtomicFile::fail(const char* need) const {
  const std::string reason = std::generic_category().message(errno);
  throw FileError(path_.string(), fmt::format("[save] need {}; got: {}", need, reason));
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace dynet_like::detail
