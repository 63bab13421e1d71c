// Places in a program without debug information: functions, and what is missing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "dynet_like/report/places.h"
#include "tests/support/message_of.h"

// A function of a program.
[[gnu::noinline]] void record_sample(dynet_like::Minibatch& batch, unsigned n) {
  dynet_like::ComputationGraph& graph = batch.new_graph();
  const dynet_like::Expression x = dynet_like::input(graph, {n}, std::vector<float>(n, 1));
  batch.add_loss(sum_elems(softmax(x)));
}

namespace dynet_like {
namespace {

class PlacesWithoutLinesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("addr2line --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs addr2line";
  }

  // The places of all rows of the report, which may not be empty.
  std::vector<std::string> places() {
    batch_.forward();
    std::vector<std::string> all;
    for (const Report::MissedMerge& merge : batch_.explain().missed_merges) {
      all.insert(all.end(), merge.places.begin(), merge.places.end());
    }
    EXPECT_FALSE(batch_.explain().missed_merges.empty());
    return all;
  }

  const GraphOptions options_{.record_places = true};
  Minibatch batch_{options_};
};

TEST_F(PlacesWithoutLinesTest, NameTheFunctionAndSayWhatIsMissing) {
  for (unsigned n = 2; n < 6; ++n) record_sample(batch_, n);
  const std::vector<std::string> all = places();
  ASSERT_FALSE(all.empty());
  for (const std::string& place : all) {
    EXPECT_TRUE(place.starts_with("record_sample(")) << place;
    EXPECT_TRUE(mentions(place, "compile with -g"));
  }
}

// All that calls this is of the library, of the test's framework, or of the system.
TEST_F(PlacesWithoutLinesTest, AreNotInTheCLibrary) {
  for (unsigned n = 2; n < 6; ++n) {
    std::thread([&] {
      ComputationGraph& graph = batch_.new_graph();
      batch_.add_loss(sum_elems(softmax(input(graph, {n}, std::vector<float>(n, 1)))));
    }).join();
  }
  for (const std::string& place : places()) ADD_FAILURE() << place;
}

TEST_F(PlacesWithoutLinesTest, OfMainAreThoseOfMain) {
  for (unsigned n = 2; n < 6; ++n) {
    ComputationGraph& graph = batch_.new_graph();
    batch_.add_loss(sum_elems(softmax(input(graph, {n}, std::vector<float>(n, 1)))));
  }
  for (const std::string& place : places()) {
    EXPECT_FALSE(mentions(place, ".c:"));
    EXPECT_FALSE(mentions(place, "libc"));
  }
}

TEST(SystemFilesTest, AreKnownByTheirNames) {
  for (const char* file : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/libc-2.31.so",
                           "/lib/libpthread-2.31.so", "/usr/lib/libstdc++.so.6.0.30", "libc++.so.1",
                           "libc++abi.so.1", "libgcc_s.so.1", "libm.so.6", "libm-2.31.so",
                           "/lib64/ld-linux-x86-64.so.2", "ld-2.31.so", "/lib/ld-musl-x86_64.so.1",
                           "libc.musl-x86_64.so.1", "linux-vdso.so.1", "linux-vdso64.so.1"}) {
    EXPECT_TRUE(detail::is_of_system(file)) << file;
  }
  for (const char* file :
       {"ld-train", "/home/user/ld-2-train/train", "libc-parser.so", "libc-", "libc++-models.so",
        "libmodel.so", "libm", "libpthreads.so", "ld-linux", "/lib/libcrypt.so.1", ""}) {
    EXPECT_FALSE(detail::is_of_system(file)) << file;
  }
}

}  // namespace
}  // namespace dynet_like
