// Fibers: stopping and going on, exceptions, guard pages.
#include "dynet_like/core/fiber.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 10;

struct Running {
  explicit Running(unsigned number = 0) : fiber(kStack, number) {}

  void begin(std::function<void()> f) {
    function = std::move(f);
    has_ended = false;
    fiber.set_function(
        [](void* self) {
          auto& running = *static_cast<Running*>(self);
          running.function();
          running.has_ended = true;
        },
        this);
  }

  Fiber fiber;
  std::function<void()> function;
  bool has_ended = true;
};

TEST(FiberTest, StopsAndGoesOn) {
  Running a;
  std::string said;
  a.begin([&] {
    for (char c = 'a'; c < 'd'; ++c) {
      said += c;
      a.fiber.yield();
    }
  });
  while (!a.has_ended) {
    a.fiber.resume();
    said += '.';
  }
  EXPECT_EQ(said, "a.b.c..");
}

TEST(FiberTest, IsUsedAgain) {
  Running a;
  int sum = 0;
  for (int i = 1; i <= 100; ++i) {
    a.begin([&, i] {
      a.fiber.yield();
      sum += i;
    });
    a.fiber.resume();
    EXPECT_FALSE(a.has_ended);
    a.fiber.resume();
    EXPECT_TRUE(a.has_ended);
  }
  EXPECT_EQ(sum, 5050);
}

TEST(FiberTest, KnowsWhoStandsOnIt) {
  Running a, b;
  bool a_in_a = false, a_in_b = true, b_in_b = false;
  b.begin([&] {
    a_in_b = a.fiber.is_current();
    b_in_b = b.fiber.is_current();
  });
  a.begin([&] {
    a_in_a = a.fiber.is_current();
    b.fiber.resume();  // a fiber may resume another
  });
  EXPECT_FALSE(a.fiber.is_current());
  a.fiber.resume();
  EXPECT_TRUE(a_in_a);
  EXPECT_FALSE(a_in_b);
  EXPECT_TRUE(b_in_b);
}

// Two fibers stop inside handlers of different exceptions; each goes on with its own.
TEST(FiberTest, ExceptionsAreOfTheirFiber) {
  std::vector<std::unique_ptr<Running>> all;
  std::vector<std::string> seen(3);
  for (unsigned i = 0; i < 3; ++i) {
    all.push_back(std::make_unique<Running>(i));
    Running& self = *all.back();
    self.begin([&self, &seen, i] {
      try {
        throw std::runtime_error(std::to_string(i));
      } catch (const std::runtime_error&) {
        self.fiber.yield();
        try {
          throw;  // the one that is handled here
        } catch (const std::runtime_error& again) {
          seen[i] = again.what();
        }
      }
      EXPECT_EQ(std::current_exception(), nullptr);
    });
  }
  for (const auto& running : all) running->fiber.resume();
  EXPECT_EQ(std::current_exception(), nullptr);
  for (const auto& running : all) running->fiber.resume();
  EXPECT_EQ(seen, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(FiberTest, StopsWhileAnExceptionUnwindsItsStack) {
  Running a;
  int uncaught = -1;
  struct Yields {
    Running& running;
    int& seen;
    ~Yields() {
      running.fiber.yield();
      seen = std::uncaught_exceptions();
    }
  };
  a.begin([&] {
    try {
      const Yields yields{a, uncaught};
      throw std::runtime_error("on the way");
    } catch (const std::runtime_error&) {
    }
  });
  a.fiber.resume();
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  a.fiber.resume();
  EXPECT_EQ(uncaught, 1);
  EXPECT_TRUE(a.has_ended);
}

TEST(FiberTest, RefusesStacksThatNoMachineHas) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {kMost, kMost - 1, kMost - 5000, kMost / 2 + 1, kMost / 4}) {
    EXPECT_THROW(Fiber fiber(bytes), std::bad_alloc) << bytes;
  }
}

using FiberDeathTest = ::testing::Test;

// As deep as it takes; the compiler must not make a loop of it.
[[gnu::noinline]] int descend(int depth, volatile char* above) {
  volatile char frame[1024];
  frame[0] = *above;
  return depth == 0 ? frame[0] : descend(depth - 1, frame) + frame[1000];
}

TEST(FiberDeathTest, ATooDeepStackEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Running a;
        a.begin([] {
          volatile char begin = 0;
          descend(1000, &begin);
        });
        a.fiber.resume();
      },
      "");
}

}  // namespace
}  // namespace dynet_like
