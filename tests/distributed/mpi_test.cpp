// Ranks that are processes of MPI: the bits of one, and what comes of those that die, hang or
// differ.
#include <sys/wait.h>
#include <cstdio>

#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

struct Ending {
  int status = -1;
  std::string output;  ///< both streams
};

class MpiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mpirun_.empty()) GTEST_SKIP() << "built without MPI";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  /// Starts so many processes. They may be more than there are processors, and of any user.
  Ending run(unsigned ranks, const std::string& arguments, const std::string& environment = "") {
    const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "ranks_program";
    const std::string command =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none " +
        environment + " '" + mpirun_ + "' -n " + std::to_string(ranks) + " '" + program + "' " +
        arguments + " 2>&1";
    Ending ending;
    std::FILE* const pipe = popen(command.c_str(), "r");
    char block[4096];
    while (const std::size_t read = std::fread(block, 1, sizeof(block), pipe)) {
      ending.output.append(block, read);
    }
    const int status = pclose(pipe);
    ending.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ending;
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string best(const std::string& name) const {
    return file_contents(folder_ / name / "best.safetensors");
  }
  void expect_same_best(const std::string& name, const std::string& other) const {
    EXPECT_GT(best(name).size(), 1000u);
    EXPECT_TRUE(best(name) == best(other)) << other;
  }
  /// A run of `ranks` with a fault ends with a message, and `fewer` go on from what it has saved.
  void expect_recovery(const std::string& fault, unsigned ranks, unsigned fewer,
                       const std::string& message, const std::string& environment = "") {
    ASSERT_EQ(run(1, "plain " + path("whole")).status, 0);
    const Ending ending = run(ranks, "plain " + path("fault") + " " + fault, environment);
    EXPECT_NE(ending.status, 0);
    EXPECT_TRUE(mentions(ending.output, message));
    EXPECT_TRUE(mentions(ending.output, "the last update is saved in " + path("fault")));
    const Ending rest = run(fewer, "plain " + path("fault") + " resume");
    EXPECT_EQ(rest.status, 0) << rest.output;
    expect_same_best("whole", "fault");
  }

  const std::string mpirun_ = DYNET_LIKE_MPIRUN;
  const fs::path folder_ = fs::path(::testing::TempDir()) / "mpi_ranks";
};

TEST_F(MpiTest, TrainsWithTheSameBitsOnAnyNumberOfRanks) {
  for (const std::string setting : {"accumulation", "groups_and_exact_rows"}) {
    for (unsigned ranks = 1; ranks <= 4; ++ranks) {
      const std::string name = setting + std::to_string(ranks);
      const Ending ending = run(ranks, setting + " " + path(name));
      ASSERT_EQ(ending.status, 0) << ending.output;
      expect_same_best(setting + "1", name);
    }
  }
}

TEST_F(MpiTest, TrainsWithoutWaitingForAll) {
  for (const std::string setting : {"stale", "backup"}) {
    for (unsigned ranks = 2; ranks <= 3; ++ranks) {
      const Ending ending = run(ranks, setting + " " + path(setting));
      EXPECT_EQ(ending.status, 0) << ending.output;
      const std::string updates = setting == "stale" ? "21 updates" : " updates";
      EXPECT_TRUE(mentions(ending.output, updates));
    }
  }
}

TEST_F(MpiTest, ARankThatHangsWhileOthersGoOnIsNamed) {
  for (const std::string rank : {"0", "1"}) {
    const Ending ending =
        run(3, "stale " + path("hang") + " hang " + rank + " 7", "DYNET_LIKE_RANK_TIME_LIMIT=1");
    EXPECT_NE(ending.status, 0);
    EXPECT_TRUE(mentions(
        ending.output, "need each rank to ask for a minibatch within 1 s; got nothing from rank " +
                           rank + " (process "));
  }
}

TEST_F(MpiTest, ARankThatDiesLeavesACheckpointThatFewerGoOnFrom) {
  expect_recovery("die 2 6", 3, 2, "and was asked to end");
}

TEST_F(MpiTest, ARankThatHangsIsNamed) {
  expect_recovery("hang 1 6", 3, 1, "need all ranks within 1 s; got none of rank 1 (process ",
                  "DYNET_LIKE_RANK_TIME_LIMIT=1");
}

TEST_F(MpiTest, ARankThatThrowsEndsAll) {
  expect_recovery("throw 1 6", 2, 1, "ends all 2 ranks: no more power");
}

TEST_F(MpiTest, ARankWithOtherSettingsIsRefusedByName) {
  const Ending ending = run(3, "plain " + path("other") + " other 2 0");
  EXPECT_NE(ending.status, 0);
  EXPECT_TRUE(mentions(ending.output,
                       "need the same program, data and options on all ranks; got as "
                       "hidden: nothing on rank 0 (process "));
  EXPECT_TRUE(mentions(ending.output, ", and \"9\" on rank 2 (process "));
}

TEST_F(MpiTest, ATimeLimitMustBeANumber) {
  const Ending ending = run(1, "plain " + path("limit"), "DYNET_LIKE_RANK_TIME_LIMIT=soon");
  EXPECT_NE(ending.status, 0);
  EXPECT_TRUE(
      mentions(ending.output, "need seconds above 0 in DYNET_LIKE_RANK_TIME_LIMIT; got \"soon\""));
}

}  // namespace
}  // namespace dynet_like::nn
