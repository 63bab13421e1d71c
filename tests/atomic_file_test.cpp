// Files that appear whole or not at all, and what killed programs leave.
#include "dynet_like/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;

/// A new folder, which is gone at the end.
class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest()
      : folder_(fs::path(testing::TempDir()) / ("atomic_file_test_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }

  static std::string text_of(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const fs::path folder_;
};

TEST_F(AtomicFileTest, ReplacesAFileAtCommitOnly) {
  const fs::path path = folder_ / "file";
  write_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(std::string_view("new"))));
    EXPECT_EQ(text_of(path), "old");
    EXPECT_EQ(names().size(), 2u);
  }
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(names(), std::set<std::string>{"file"});
  write_atomically(path, "new");
  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(names(), std::set<std::string>{"file"});
  EXPECT_THROW(write_atomically(folder_, "new"), FileError);
  EXPECT_THROW(write_atomically(folder_ / "none" / "file", "new"), FileError);
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
