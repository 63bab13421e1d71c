// Samples that do everything that could make them wait for each other forever: they all end.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// Ends the process if the test hangs.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::minutes(5), [this] { return is_done_; })) return;
    std::fputs("samples wait for each other\n", stderr);
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::thread thread_;
};

struct Mine {};

// Asks for a value when it goes, also while its sample is unwound.
class LastWish {
 public:
  explicit LastWish(ComputationGraph& graph) : wish_(square(input(graph, 2.0f))) {}
  ~LastWish() {
    try {
      EXPECT_EQ(as_scalar(wish_.value()), 4.0f);
    } catch (...) {
    }
  }

 private:
  Expression wish_;
};

// A minibatch whose samples do what random numbers say.
class Program {
 public:
  explicit Program(std::uint64_t seed) : seed_(seed), random_(seed) {
    count_ = 1 + random_.below(9);
    threads_ = 1 + random_.below(4);
    fails_ = random_.below(4) == 0;
  }

  /// All samples that were begun have ended, and all were begun if none has failed.
  void run() {
    GraphOptions options;
    options.inference = random_.below(2) == 0;
    options.threads = threads_;
    Minibatch batch(options);
    for (int round = 0; round < 2; ++round, batch.clear()) {
      begun_ = ended_ = 0;
      try {
        for_each_sample(batch, count_, [&](ComputationGraph& graph, std::size_t i) {
          run_sample(batch, graph, i);
        });
        EXPECT_EQ(begun_, count_);
      } catch (const Mine&) {
        EXPECT_TRUE(fails_);
      }
      EXPECT_EQ(begun_, ended_);
    }
  }

 private:
  struct Visit {
    explicit Visit(Program& visited) : program(visited) { ++program.begun_; }
    ~Visit() { ++program.ended_; }
    Program& program;
  };

  void run_sample(Minibatch& batch, ComputationGraph& graph, std::size_t i) {
    const Visit visit(*this);
    Random random(seed_ + 1, std::uint64_t{i} << 32);
    Expression x = input(graph, 1.0f);
    std::optional<LastWish> wish;
    if (random.below(2) == 0) wish.emplace(graph);
    for (unsigned steps = random.below(8); steps > 0; --steps) {
      x = tanh(x + 0.1f);
      if (fails_ && random.below(10) == 0) throw Mine();
      step(random, batch, graph, x);
    }
  }

  void step(Random& random, Minibatch& batch, ComputationGraph& graph, const Expression& x) {
    switch (random.below(8)) {
      case 0:
        return;  // asks for nothing
      case 1:
        as_scalar(x.value());
        as_scalar(x.value());
        return;
      case 2:
        values_of({x, square(x), x});
        return;
      case 3: {  // a type that nobody has recorded: numbers are given out in the samples' order
        const Dim dim({2 + random.below(1000)});
        as_scalar((sum_elems(zeros(graph, dim)) + x).value());
        return;
      }
      case 4: {  // a value that cannot be computed
        const unsigned nowhere = 7;
        const Expression bad = pick(zeros(graph, Dim({5})), &nowhere);
        try {
          as_scalar(bad.value());
          ADD_FAILURE() << "there is no element 7 of 5";
        } catch (const UsageError&) {  // and not what unwinds the sample
        }
        return;
      }
      case 5:
        EXPECT_THROW(batch.compute({x}), UsageError);
        EXPECT_THROW(for_each_sample(batch, 1, [](ComputationGraph&, std::size_t) {}), UsageError);
        return;
      case 6:
        return run_inside(random);
      default:
        graph.checkpoint();
        as_scalar(exp(x).value());
        graph.revert();
    }
  }

  static void run_inside(Random& random) {
    Minibatch batch({.threads = 1 + random.below(2)});
    for_each_sample(batch, 3, [](ComputationGraph& graph, std::size_t i) {
      const Expression x = input(graph, static_cast<float>(i));
      if (as_scalar(square(x).value()) > 2) as_scalar(exp(x).value());
    });
  }

  const std::uint64_t seed_;
  Random random_;
  std::size_t count_;
  unsigned threads_;
  bool fails_;
  std::atomic<std::size_t> begun_ = 0, ended_ = 0;
};

TEST(ForEachSampleDeadlockTest, AllSamplesEnd) {
  const Watchdog watchdog;
  for (std::uint64_t seed = 0; seed < 100; ++seed) Program(seed).run();
}

TEST(ForEachSampleDeadlockTest, ThreadsHaveMinibatchesOfTheirOwn) {
  const Watchdog watchdog;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      for (std::uint64_t seed = 0; seed < 20; ++seed) Program(1000 * (t + 1) + seed).run();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Asks for a value when it goes, and says what it has caught.
class CarefulWish {
 public:
  CarefulWish(ComputationGraph& graph, std::string& caught) : graph_(graph), caught_(caught) {}
  ~CarefulWish() {
    try {
      as_scalar(input(graph_, 2.0f).value());
    } catch (const std::exception& error) {
      caught_ = error.what();
    }
  }

 private:
  ComputationGraph& graph_;
  std::string& caught_;
};

TEST(ForEachSampleDeadlockTest, DestructorsThatAskWhileTheirSampleIsUnwoundCatchAnException) {
  Minibatch batch;
  std::string asked_while_unwound, waited_while_unwound;
  const auto run_sample = [&](ComputationGraph& graph, std::size_t i) {
    const Expression x = input(graph, 1.0f);
    if (i == 0) {
      as_scalar(x.value());
      throw Mine();
    }
    const CarefulWish wish(graph, i == 1 ? asked_while_unwound : waited_while_unwound);
    if (i == 2) throw std::bad_alloc();
    as_scalar(x.value());
  };
  EXPECT_THROW(for_each_sample(batch, 3, run_sample), Mine);
  const std::string expected =
      "[value] need a sample that still runs; got one that ends because another failed";
  EXPECT_EQ(asked_while_unwound, expected);
  EXPECT_EQ(waited_while_unwound, expected);
}

}  // namespace
}  // namespace dynet_like
