// The progress bar on a terminal, and on one that went away.
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "nn/train/progress_bar.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

// A terminal in place of standard error.
class ProgressBarTest : public ::testing::Test {
 protected:
  void SetUp() override {
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) {
      GTEST_SKIP() << "needs a pseudo terminal";
    }
    const int terminal = open(ptsname(master_), O_RDWR | O_NOCTTY);
    standard_error_ = dup(STDERR_FILENO);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
  }
  void TearDown() override {
    if (standard_error_ >= 0) dup2(standard_error_, STDERR_FILENO);
    close(standard_error_);
    if (master_ >= 0) close(master_);
    std::clearerr(stderr);
  }

  int master_ = -1, standard_error_ = -1;
};

TEST_F(ProgressBarTest, IsDrawnOnATerminal) {
  {
    ProgressBar bar("epoch 1", 4, "words", 0, true);
    bar.advance(2, 0.5);
  }
  char text[200] = {};
  ASSERT_GT(read(master_, text, sizeof text - 1), 0);
  EXPECT_TRUE(mentions(std::string(text), "epoch 1 [==========>")) << text;
}

TEST_F(ProgressBarTest, DoesNotMindATerminalThatIsGone) {
  ProgressBar bar("epoch 1", 4, "words", 0, true);
  close(std::exchange(master_, -1));
  EXPECT_NO_THROW(bar.advance(2, 0.5));
  EXPECT_NE(std::ferror(stderr), 0) << "it was drawn";
}

}  // namespace
}  // namespace dynet_like::nn
