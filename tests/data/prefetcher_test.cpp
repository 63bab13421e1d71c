// Prefetching: the order, how far ahead, errors, an early end, and going on within an epoch.
#include "nn/data/prefetcher.h"

#include <chrono>

#include "nn/data/minibatches.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr std::size_t kMany = 1000;

TEST(PrefetcherTest, GivesAllItemsInOrder) {
  for (const std::size_t ahead : {1u, 2u, 100u, 10000u}) {
    // Items may be movable only.
    Prefetcher<std::unique_ptr<std::size_t>> items(
        kMany, [](std::size_t i) { return std::make_unique<std::size_t>(i); }, ahead);
    for (std::size_t i = 0; i < kMany; ++i) {
      EXPECT_EQ(items.position(), i);
      const auto item = items.next();
      ASSERT_TRUE(item.has_value());
      EXPECT_EQ(**item, i);
    }
    EXPECT_FALSE(items.next().has_value());
    EXPECT_FALSE(items.next().has_value()) << "it stays at the end";
    EXPECT_EQ(items.position(), kMany);
  }
}

TEST(PrefetcherTest, WorksInAThreadOfItsOwnAndNotTooFarAhead) {
  std::atomic<std::size_t> made = 0;
  std::atomic<bool> elsewhere = true;
  const std::thread::id here = std::this_thread::get_id();
  Prefetcher<std::size_t> items(
      kMany,
      [&](std::size_t i) {
        if (std::this_thread::get_id() == here) elsewhere = false;
        ++made;
        return i;
      },
      3);
  // Without a call of next(), three are made; more must not be, however long one waits.
  while (made < 3) std::this_thread::yield();
  for (std::size_t i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LE(made, i / 10 + 3);
    if (i % 10 == 9) {
      EXPECT_EQ(items.next(), i / 10);
      while (made < i / 10 + 4) std::this_thread::yield();
    }
  }
  EXPECT_TRUE(elsewhere);
}

TEST(PrefetcherTest, EndsWheneverItIsDestroyed) {
  for (std::size_t taken = 0; taken < 20; ++taken) {
    Prefetcher<std::vector<int>> items(
        kMany, [](std::size_t i) { return std::vector<int>(100, static_cast<int>(i)); }, 1 + taken);
    for (std::size_t i = 0; i < taken; ++i) EXPECT_EQ((*items.next())[0], static_cast<int>(i));
  }
  Prefetcher<int> none(0, [](std::size_t) { return 0; });
  EXPECT_FALSE(none.next().has_value());
}

TEST(PrefetcherTest, ErrorsComeInTheirPlace) {
  Prefetcher<std::size_t> items(
      kMany,
      [](std::size_t i) {
        if (i == 5) throw UsageError("the sixth");
        return i;
      },
      50);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(items.next(), i);
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(message_of<UsageError>([&] { items.next(); }), "the sixth");
    EXPECT_EQ(items.position(), 5u);
  }
  // Nobody asks for the item that fails.
  const Prefetcher<int> unasked(1, [](std::size_t) -> int { throw std::runtime_error("unseen"); });
}

TEST(PrefetcherTest, RejectsImpossibleRequests) {
  const auto make = [](std::size_t i) { return i; };
  EXPECT_THROW(Prefetcher<std::size_t>(3, make, 0), UsageError);
  EXPECT_THROW(Prefetcher<std::size_t>(3, make, 1, 4), UsageError);
  EXPECT_THROW(Prefetcher<std::size_t>(3, nullptr), UsageError);
  EXPECT_FALSE(Prefetcher<std::size_t>(3, make, 1, 3).next().has_value());
  Prefetcher<std::size_t> rest(9, make, 3, 5);  // goes on where an epoch was interrupted
  for (std::size_t i = 5; i < 9; ++i) {
    EXPECT_EQ(rest.position(), i);
    EXPECT_EQ(rest.next(), i);
  }
}

}  // namespace
}  // namespace dynet_like::nn
