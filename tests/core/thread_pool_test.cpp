// ThreadPool: every part runs once, exceptions reach the caller, waiting threads wake up, and
// threads that the system refuses are an error.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "tests/support/message_of.h"

#include "tests/support/precompiled.h"

namespace {

std::atomic<int> threads_until_refusal = -1;  // never

}  // namespace

// Found before the system's own, which it calls unless it is to refuse.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_until_refusal == 0) return EAGAIN;
  --threads_until_refusal;
  return create(thread, attributes, start, argument);
}

namespace dynet_like {
namespace {

TEST(ThreadPool, RunsEveryPartOnce) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.size(), 4u);
  for (unsigned round = 0; round < 2000; ++round) {
    const unsigned parts = 1 + round % 4;
    std::vector<unsigned> calls(parts, 0);  // every part has an element of its own
    pool.run(parts, [&](unsigned part) { ++calls[part]; });
    EXPECT_EQ(calls, std::vector<unsigned>(parts, 1)) << round;
  }
}

TEST(ThreadPool, RunsPartsInThreadsOfTheirOwn) {
  ThreadPool pool(3);
  std::vector<std::thread::id> before;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread::id> ids(3);
    std::atomic<unsigned> begun = 0;
    pool.run(3, [&](unsigned part) {
      ids[part] = std::this_thread::get_id();
      ++begun;
      while (begun < 3) std::this_thread::yield();  // nobody can run two
    });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3u);
    if (round == 0) before = ids;
    EXPECT_EQ(ids, before);
  }
}

TEST(ThreadPool, WakesThreadsThatSleep) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // much longer than they spin
    pool.run(3, [&](unsigned part) {
      // The caller sleeps, too, until the last is done.
      if (part == 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++calls;
    });
  }
  EXPECT_EQ(calls, 15);
}

TEST(ThreadPool, WorksAlone) {
  for (unsigned threads : {0u, 1u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), 1u);
    unsigned calls = 0;
    pool.run(1, [&](unsigned part) { calls += 1 + part; });
    EXPECT_EQ(calls, 1u);
  }
}

TEST(ThreadPool, ThrowsOnceAllPartsHaveEnded) {
  ThreadPool pool(3);
  for (unsigned bad = 0; bad < 3; ++bad) {
    std::atomic<unsigned> ended = 0;
    const std::string message = message_of<std::runtime_error>([&] {
      pool.run(3, [&](unsigned part) {
        if (part == bad) throw std::runtime_error("part " + std::to_string(part));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++ended;
      });
    });
    EXPECT_EQ(message, "part " + std::to_string(bad));
    EXPECT_EQ(ended, 2u);
  }
  EXPECT_THROW(pool.run(3, [](unsigned) { throw std::logic_error("all"); }), std::logic_error);
  std::atomic<unsigned> calls = 0;
  pool.run(3, [&](unsigned) { ++calls; });
  EXPECT_EQ(calls, 3u);
}

TEST(ThreadPool, ThrowsTheFirstOfSeveralExceptions) {
  for (const unsigned first : {0u, 1u, 2u}) {
    ThreadPool pool(3);
    std::atomic<bool> has_thrown = false;
    struct Thrown {  // told when the stack of the first is left
      std::atomic<bool>& flag;
      ~Thrown() { flag = true; }
    };
    const std::string message = message_of<std::runtime_error>([&] {
      pool.run_on_own_threads(3, [&](unsigned part) {
        if (part == first) {
          const Thrown thrown{has_thrown};
          throw std::runtime_error("first");
        }
        if (first != 0 && part == 0) return;
        while (!has_thrown) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        throw std::runtime_error("later");
      });
    });
    EXPECT_EQ(message, "first");
  }
}

TEST(ThreadPool, RefusesANumberThatNoMachineHas) {
  for (const unsigned threads : {4097u, 4294967295u}) {
    expect_refused<UsageError>(
        "[threads] need 0 to 4096 as GraphOptions::threads; got " + std::to_string(threads),
        [&] { ThreadPool pool(threads); });
  }
}

TEST(ThreadPool, ThrowsIfTheSystemRefusesThreads) {
  for (int started = 0; started < 3; ++started) {
    threads_until_refusal = started;
    const std::string message = message_of<DeviceError>([] { ThreadPool pool(4); });
    threads_until_refusal = -1;
    const std::string expected =
        "[threads] need 3 threads beside the caller's; got " + std::to_string(started) + ", then ";
    EXPECT_EQ(message.substr(0, expected.size()), expected);
    EXPECT_NE(message.find("GraphOptions::threads"), std::string::npos);
  }
  ThreadPool pool(4);
  std::atomic<unsigned> calls = 0;
  pool.run(4, [&](unsigned) { ++calls; });
  EXPECT_EQ(calls, 4u);
}

}  // namespace
}  // namespace dynet_like
