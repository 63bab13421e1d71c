// FolderLock, by flock.
#include "dynet_like/io/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::detail {

namespace {

std::string this_process() {
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"an unknown host"};
  return fmt::format("process {} on {}", ::getpid(), host.data());
}

// Throws, and names the process that has the lock, if it has written its name already.
[[noreturn]] void refuse(const std::filesystem::path& folder, int file) {
  std::array<char, 512> bytes = {};
  const auto size = ::pread(file, bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const bool is_own = text == this_process();
  throw FileError(
      folder.string(),
      fmt::format("need a folder that no other run uses; got one in use by {}: {}, or choose "
                  "another folder",
                  is_own         ? "this program"
                  : text.empty() ? "another program"
                                 : quoted_text(text),
                  is_own ? "destroy the run that has it" : "wait until that has ended"));
}

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

// Opens and locks the file. Returns nothing if its owner has removed it meanwhile, as owners do at
// the end.
int open_locked(const std::filesystem::path& folder, const std::filesystem::path& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file = {::open(path.c_str(), kFlags, 0666)};
  if (file.value < 0) {
    const std::string reason = std::generic_category().message(errno);
    throw FileError(folder.string(), fmt::format("need a folder to write in; got: {}", reason));
  }
  if (::flock(file.value, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    refuse(folder, file.value);
  }
  struct stat status = {};
  const bool is_removed = ::fstat(file.value, &status) == 0 && status.st_nlink == 0;
  return is_removed ? -1 : std::exchange(file.value, -1);
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : path_(folder / ".dynet_like.lock") {
  const std::string name = this_process();
  while (descriptor_ < 0) descriptor_ = open_locked(folder, path_);
  // The name is for people: the lock holds without it.
  const bool written =
      ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, name.data(), name.size(), 0) > 0;
  if (!written) errno = 0;
}

FolderLock::~FolderLock() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace dynet_like::detail
