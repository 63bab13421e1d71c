// FolderLock: one holder at a time, in this process or another, and none after a process was
// killed.
#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "dynet_like/io/folder_lock.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail {
namespace {

struct FolderLockTest : FolderTest {};

TEST_F(FolderLockTest, HasOneHolder) {
  {
    const FolderLock lock(folder());
    EXPECT_EQ(message_of<FileError>([&] { FolderLock second(folder()); }),
              folder() +
                  ": need a folder that no other run uses; got one in use by this program: destroy "
                  "the run that has it, or choose another folder");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
  EXPECT_NO_THROW(FolderLock{folder()});
}

TEST_F(FolderLockTest, EndsWithItsProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const FolderLock lock(folder());
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::string message = message_of<FileError>([&] { FolderLock lock(folder()); });
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  EXPECT_EQ(message, folder() +
                         ": need a folder that no other run uses; got one in use by \"process " +
                         std::to_string(child) + " on " + host +
                         "\": wait until that has ended, or choose another folder");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(FolderLock{folder()});
  for (const int end : ready) ::close(end);
}

// Who opens the file just before its holder removes it has locked a file that others do not see.
TEST_F(FolderLockTest, HasOneHolderWhileOthersComeAndGo) {
  std::atomic<int> holders = 0, times = 0;
  std::atomic<bool> overlapped = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        try {
          const FolderLock lock(folder());
          if (++holders != 1) overlapped = true;
          ++times;
          --holders;
        } catch (const FileError&) {  // another one has it
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(overlapped);
  EXPECT_GT(times, 1000);
}

TEST_F(FolderLockTest, NeedsAFolderToWriteIn) {
  EXPECT_THROW(FolderLock(path("missing")), FileError);
  std::filesystem::create_directories(path(".dynet_like.lock"));
  EXPECT_THROW(FolderLock{folder()}, FileError);
}

}  // namespace
}  // namespace dynet_like::detail
