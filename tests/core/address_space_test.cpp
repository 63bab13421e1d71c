// Under a real limit of address space a training step ends with the right numbers or with an error,
// and once there is memory again the same objects give the same bits.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/support/known_minibatch.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like {
namespace {

constexpr int kTrials = 60;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr std::size_t kMostMegabytes = 24;  // a step takes about half of it, and a stack 8
constexpr std::size_t kSamples = 300;

// What a child says by its exit status.
enum Verdict { kFinished = 10, kRecovered, kWrongNumber, kWrongAfterwards, kOtherError };

std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool limit_address_space(std::optional<std::size_t> bytes) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0) return false;
  limit.rlim_cur = bytes ? *bytes : limit.rlim_max;
  return ::setrlimit(RLIMIT_AS, &limit) == 0;
}

// The system cannot give a stack more pages either: that would be no error but the end.
[[gnu::noinline]] void touch_stack() {
  volatile char pages[kMegabyte];
  for (std::size_t i = 0; i < sizeof(pages); i += 1024) pages[i] = 1;
}

struct Step {
  KnownModel model;
  std::optional<Minibatch> batch;

  Bits run(unsigned threads) {
    if (!batch) {
      const GraphOptions options = {.threads = threads};
      batch.emplace(options);
    }
    batch->clear();
    const std::vector<std::uint64_t> seeds(kSamples, 7);  // dropout draws the same each time
    batch->seed_samples(seeds);
    batch->add_losses(kSamples, [&](ComputationGraph& graph, std::size_t i) {
      return model.loss_of(graph, i % 20);
    });
    const float loss = batch->forward();
    return Bits::of(model, loss, &batch->backward());
  }
};

Verdict run_child(unsigned threads, std::size_t more, const Bits& expected) {
  Step step;
  touch_stack();
  if (!limit_address_space(address_space() + more)) return kOtherError;
  Verdict verdict = kOtherError;
  try {
    verdict = step.run(threads) == expected ? kFinished : kWrongNumber;
  } catch (const std::bad_alloc&) {
    verdict = kRecovered;
  } catch (const DeviceError&) {
    verdict = kRecovered;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  if (!limit_address_space({})) return kOtherError;
  if (verdict == kRecovered && !(step.run(threads) == expected)) return kWrongAfterwards;
  return verdict;
}

TEST(AddressSpace, RunsOutWithAnError) {
  if (kSlowBuild) GTEST_SKIP() << "sanitizers need all address space";
  if (address_space() == 0) GTEST_SKIP() << "no /proc/self/statm";
  const Bits expected = Step().run(1);  // in this process no thread is started
  Random random(11);
  int finished = 0, recovered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const unsigned threads = 1 + trial % 3;
    const std::size_t more = random.below(kMostMegabytes * kMegabyte);
    const ::pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(run_child(threads, more, expected));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status))
        << "signal " << WTERMSIG(status) << " at " << more << " bytes, " << threads << " threads";
    const int verdict = WEXITSTATUS(status);
    EXPECT_TRUE(verdict == kFinished || verdict == kRecovered)
        << verdict << " at " << more << " bytes, " << threads << " threads";
    finished += verdict == kFinished;
    recovered += verdict == kRecovered;
  }
  // Else the limits say nothing.
  EXPECT_GE(finished, 5);
  EXPECT_GE(recovered, 5);
}

}  // namespace
}  // namespace dynet_like
