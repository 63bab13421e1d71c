// Files that appear whole or not at all, and what killed programs leave.
#include "dynet_like/io/atomic_file.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "tests/support/folder_test.h"
#include "tests/support/precompiled.h"

namespace {

namespace fs = std::filesystem;

/// What a test of this file wants to know of flushes.
struct Flushes {
  struct Flush {
    fs::path path;         ///< of what is flushed
    std::uintmax_t bytes;  ///< 0 for a folder
    bool is_committed;     ///< the file is there
  };

  fs::path file;  ///< that is to be committed; none: nothing is noted
  std::vector<Flush> all = {};
  int fails_at = -1;  ///< which of them
  int reason = EIO;
};
Flushes flushes;

}  // namespace

// The program's own, which stands before the C library's.
extern "C" int fsync(int descriptor) {
  if (!flushes.file.empty()) {
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
    flushes.all.push_back(
        {path, fs::is_directory(path) ? 0 : fs::file_size(path), fs::exists(flushes.file)});
    if (static_cast<int>(flushes.all.size()) - 1 == flushes.fails_at) {
      errno = flushes.reason;
      return -1;
    }
  }
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace dynet_like {
namespace {

struct AtomicFileTest : FolderTest {
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }

  const fs::path folder_ = folder();
};

TEST_F(AtomicFileTest, ReplacesAFileAtCommitOnly) {
  const fs::path path = folder_ / "file";
  write_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(std::string_view("new"))));
    EXPECT_EQ(contents(), "old");
    EXPECT_EQ(names().size(), 2u);
  }
  EXPECT_EQ(contents(), "old");
  EXPECT_EQ(names(), std::set<std::string>{"file"});
  write_atomically(path, "new");
  EXPECT_EQ(contents(), "new");
  EXPECT_EQ(names(), std::set<std::string>{"file"});
  EXPECT_THROW(write_atomically(folder_, "new"), FileError);
  EXPECT_THROW(write_atomically(folder_ / "none" / "file", "new"), FileError);
}

TEST_F(AtomicFileTest, KeepsPermissionsAndFollowsLinks) {
  const fs::path real = folder_ / "real", link = folder_ / "link";
  write_atomically(real, "old");
  fs::permissions(real, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", link);
  write_atomically(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(contents("real"), "new");
  EXPECT_EQ(fs::status(real).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THROW(write_atomically("/dev/null", "new"), FileError);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// Else a computer that loses its power may find a name without the bytes.
TEST_F(AtomicFileTest, BytesAreOnTheDiskBeforeTheNameIs) {
  for (const std::size_t size : {0u, 4u, 100'000u}) {
    flushes = {.file = folder_ / ("file of " + std::to_string(size))};
    write_atomically(flushes.file, std::string(size, 'x'));
    const Flushes seen = std::exchange(flushes, {});
    ASSERT_EQ(seen.all.size(), 2u);
    EXPECT_TRUE(seen.all[0].path.native().ends_with(".dynet_like.tmp")) << seen.all[0].path;
    EXPECT_EQ(seen.all[0].bytes, size);
    EXPECT_FALSE(seen.all[0].is_committed);
    EXPECT_EQ(seen.all[1].path, fs::canonical(folder_));
    EXPECT_TRUE(seen.all[1].is_committed);
  }
}

TEST_F(AtomicFileTest, FlushesThatFailAreErrors) {
  const fs::path path = folder_ / "file";
  for (const int fails_at : {0, 1}) {
    write_atomically(path, "old");
    flushes = {.file = path, .fails_at = fails_at};
    EXPECT_THROW(write_atomically(path, "new"), FileError) << fails_at;
    flushes = {};
    EXPECT_EQ(contents(), fails_at == 0 ? "old" : "new");
    EXPECT_EQ(names(), std::set<std::string>{"file"});
  }
  // Some file systems cannot flush a folder.
  for (const int reason : {EINVAL, ENOTSUP}) {
    flushes = {.file = path, .fails_at = 1, .reason = reason};
    EXPECT_NO_THROW(write_atomically(path, "new"));
    flushes = {};
  }
}

TEST_F(AtomicFileTest, RemovesWhatAKilledProgramLeft) {
  const pid_t child = fork();
  if (child == 0) {
    const AtomicFile file(folder_ / "file");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(names().size(), 1u) << "the killed program was to leave its temporary file";
  write_atomically(folder_ / "other", "new");
  EXPECT_EQ(names(), std::set<std::string>{"other"});
}

TEST_F(AtomicFileTest, LeavesWhatIsBeingWrittenAndWhatIsNotItsOwn) {
  // Names like those of temporary files: a link, a pipe and a folder; and names that are others.
  fs::create_symlink(folder_ / "nothing", folder_ / ".00000001.dynet_like.tmp");
  ASSERT_EQ(mkfifo((folder_ / ".00000002.dynet_like.tmp").c_str(), 0600), 0);
  fs::create_directories(folder_ / ".00000003.dynet_like.tmp");
  for (const char* name : {".1.dynet_like.tmp", "a00000004.dynet_like.tmp", ".00000005.tmp"}) {
    std::ofstream(folder_ / name) << "mine";
  }
  const std::set<std::string> before = names();
  {
    AtomicFile first(folder_ / "first"), second(folder_ / "second");
    write_atomically(folder_ / "third", "3");
    first.commit();
    write_atomically(folder_ / "third", "3");
    second.commit();
  }
  std::set<std::string> after = names();
  for (const char* name : {"first", "second", "third"}) EXPECT_EQ(after.erase(name), 1u) << name;
  EXPECT_EQ(after, before);
}

TEST_F(AtomicFileTest, ManyWritersHarmNobody) {
  constexpr int kWriters = 4, kFiles = 50;
  for (int writer = 0; writer < kWriters; ++writer) {
    if (fork() != 0) continue;
    int status = 0;
    try {
      for (int i = 0; i < kFiles; ++i) write_atomically(folder_ / std::to_string(i % 3), "text");
    } catch (const FileError&) {
      status = 1;
    }
    _exit(status);
  }
  for (int writer = 0; writer < kWriters; ++writer) {
    int status = 0;
    wait(&status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(names(), (std::set<std::string>{"0", "1", "2"}));
}

}  // namespace
}  // namespace dynet_like
