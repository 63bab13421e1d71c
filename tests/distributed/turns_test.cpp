// Turns: each minibatch once and in order, gradients that lack no more updates than may be, rounds
// that end with the first gradients.
#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/distributed/turns.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail {
namespace {

/// Ranks that take turns and need random times for them.
struct Simulation {
  Turns turns;
  Random random;
  unsigned ranks;
  struct Worker {
    bool trains = false;
    std::size_t seen = 0;  // updates in the parameters that it has read
    std::uint64_t ends = 0;
  };
  std::vector<Worker> workers;
  std::vector<std::size_t> given, counted;
  std::size_t updates = 0, most_staleness = 0;

  Simulation(std::size_t count, Relaxation relaxation, unsigned ranks, std::uint64_t seed)
      : turns(0, count, relaxation, ranks), random(seed), ranks(ranks), workers(ranks) {}

  void run(std::size_t stop_after = ~std::size_t{0}) {
    for (std::uint64_t time = 0; !turns.is_over() || turns.anyone_trains(); ++time) {
      ASSERT_LT(time, 100000u) << "nobody goes on";
      if (given.size() >= stop_after) turns.stop();
      for (unsigned rank = 0; rank < ranks; ++rank) step(rank, time);
    }
  }

  void step(unsigned rank, std::uint64_t time) {
    Worker& worker = workers[rank];
    if (worker.trains && worker.ends == time) {
      const std::size_t minibatch = turns.turn_of(rank)->minibatch;
      if (turns.counts(rank)) {
        most_staleness = std::max(most_staleness, updates - worker.seen);
        counted.push_back(minibatch);
        ++updates;
        turns.done(rank);
      }
      worker.trains = false;
    }
    if (worker.trains) return;
    const auto turn = turns.give(rank);
    if (!turn) return;
    given.push_back(turn->minibatch);
    // The last rank is slow.
    worker = {true, updates, time + 1 + random.below(rank + 1 == ranks ? 12 : 3)};
  }
};

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

TEST(TurnsTest, NoGradientLacksMoreUpdatesThanItMay) {
  for (unsigned ranks = 1; ranks <= 5; ++ranks) {
    for (unsigned staleness = ranks - 1; staleness < 9; ++staleness) {
      std::size_t most = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Simulation simulation(100, {.staleness = staleness}, ranks, seed);
        simulation.run();
        EXPECT_EQ(simulation.given, numbers(100));
        EXPECT_EQ(simulation.updates, 100u);
        most = std::max(most, simulation.most_staleness);
      }
      EXPECT_LE(most, staleness);
      if (ranks > 1) {
        EXPECT_EQ(most, staleness) << "the bound is reached";
      }
    }
  }
}

TEST(TurnsTest, WithoutABoundNobodyWaits) {
  Simulation simulation(300, {}, 4, 7);
  simulation.run();
  EXPECT_EQ(simulation.given, numbers(300));
  EXPECT_GT(simulation.most_staleness, 8u);
}

TEST(TurnsTest, WithBackupsTheFirstOfARoundCount) {
  for (unsigned ranks = 2; ranks <= 5; ++ranks) {
    for (unsigned backups = 1; backups < ranks; ++backups) {
      Simulation simulation(100, {.backup_ranks = backups}, ranks, ranks * 10 + backups);
      simulation.run();
      EXPECT_EQ(simulation.given, numbers(100));
      EXPECT_EQ(simulation.counted.size() + simulation.turns.dropped(), 100u);
      EXPECT_GT(simulation.turns.dropped(), 0u);
      std::vector<std::size_t> counted = simulation.counted;
      std::sort(counted.begin(), counted.end());
      EXPECT_EQ(std::unique(counted.begin(), counted.end()), counted.end());
    }
  }
}

TEST(TurnsTest, AStopEndsSoonAndLeavesNoRoundOpen) {
  for (const Relaxation relaxation :
       {Relaxation{.staleness = 5}, Relaxation{.backup_ranks = 1}, Relaxation{.backup_ranks = 2}}) {
    for (std::size_t after = 0; after < 30; ++after) {
      Simulation simulation(100, relaxation, 4, after);
      simulation.run(after);
      EXPECT_EQ(simulation.given, numbers(simulation.given.size()));
      EXPECT_GE(simulation.given.size(), after);
      EXPECT_LE(simulation.given.size(), after + 4);
      EXPECT_EQ(simulation.turns.next(), simulation.given.size());
    }
  }
}

// A round of two gradients of three ranks: before it, in it, when both have begun, and behind it.
TEST(TurnsTest, AStopFillsTheRoundThatIsOpen) {
  const auto after_stop = [](unsigned begun, unsigned done) {
    Turns turns(0, 100, {.backup_ranks = 1}, 3);
    for (unsigned rank = 0; rank < begun; ++rank) EXPECT_TRUE(turns.give(rank));
    for (unsigned rank = 0; rank < done; ++rank) {
      EXPECT_TRUE(turns.counts(rank));
      turns.done(rank);
    }
    turns.stop();
    std::size_t given = 0;
    for (unsigned rank = 0; rank < 3; ++rank) {
      const bool is_free = !turns.turn_of(rank);
      given += is_free && turns.give(rank) ? 1 : 0;
    }
    EXPECT_TRUE(turns.is_over());
    EXPECT_EQ(turns.next(), begun + given);
    return given;
  };
  EXPECT_EQ(after_stop(0, 0), 0u);
  EXPECT_EQ(after_stop(1, 0), 1u);
  EXPECT_EQ(after_stop(1, 1), 1u);  // else its gradient would wait for ever
  EXPECT_EQ(after_stop(2, 0), 0u);
  EXPECT_EQ(after_stop(2, 1), 0u);
  EXPECT_EQ(after_stop(2, 2), 0u);
  EXPECT_EQ(after_stop(3, 2), 0u);
}

// The last round needs what is left, and no rank joins a round twice.
TEST(TurnsTest, TheLastRoundIsSmaller) {
  Turns turns(5, 8, {.backup_ranks = 1}, 3);
  const auto give = [&](unsigned rank) { return turns.give(rank).value().needed; };
  EXPECT_EQ(give(0), 2u);
  EXPECT_EQ(give(1), 2u);
  for (unsigned rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(turns.counts(rank));
    turns.done(rank);
    EXPECT_FALSE(turns.is_over());
  }
  EXPECT_EQ(give(2), 1u);
  EXPECT_TRUE(turns.is_over());
  EXPECT_FALSE(turns.give(0));
  EXPECT_TRUE(turns.anyone_trains());
  EXPECT_TRUE(turns.counts(2));
  turns.done(2);
  EXPECT_FALSE(turns.anyone_trains());
  Turns again(0, 100, {.backup_ranks = 1}, 3);
  EXPECT_TRUE(again.give(0));
  EXPECT_TRUE(again.counts(0));
  again.done(0);
  EXPECT_FALSE(again.give(0)) << "the round is not over";
  EXPECT_TRUE(again.give(1));
}

TEST(TurnsTest, RefusesWhatLeavesRanksIdle) {
  EXPECT_NO_THROW(Relaxation{.staleness = 3}.check(4));
  EXPECT_NO_THROW(Relaxation{.staleness = 0}.check(1));
  EXPECT_NO_THROW((Relaxation{.staleness = 0, .backup_ranks = 2}.check(3)));
  EXPECT_EQ(message_of<UsageError>([] { Relaxation{.staleness = 2}.check(4); }),
            "[Relaxation] need a staleness of 3 or more, so that 4 ranks can work at once; got 2");
  EXPECT_EQ(message_of<UsageError>([] { Relaxation{.backup_ranks = 3}.check(3); }),
            "[Relaxation] need fewer backup ranks than ranks; got 3 of 3");
}

}  // namespace
}  // namespace dynet_like::detail
