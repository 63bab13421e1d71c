// Ranks that do not wait for each other: what one of them trains alone, that all end with the same
// parameters, how stale gradients get, and what comes of ranks that stop, fail or hang.
#include <chrono>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/parameter_server.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;
using namespace std::chrono_literals;

Setting relaxed(Relaxation relaxation, unsigned batch_size = 16, const Setting& setting = kPlain) {
  return setting.with([=](TrainingOptions& options) {
    options.ranks.relaxation = relaxation;
    options.batch_size = batch_size;
  });
}

struct Ran {
  std::vector<std::vector<float>> values;    // by rank
  std::map<std::uint32_t, int> minibatches;  // how often one was trained on
  std::vector<double> losses;                // of epochs
  std::uint64_t updates = 0;
};

/// Lets ranks train; the last one is slow.
Ran train(unsigned ranks, const Setting& setting) {
  Ran ran;
  std::mutex mutex;
  run_ranks(ranks, [&](const Ranks& communicator) {
    Program program(setting, "", false, communicator);
    program.train({}, [&](TrainingRun& run, int) {
      if (run.ranks().rank() + 1 == ranks) std::this_thread::sleep_for(10ms);
    });
    const std::lock_guard lock(mutex);
    ran.values.push_back(program.values());
    ran.updates = program.run->progress().updates;
    ran.losses.clear();
    for (unsigned epoch = 1; epoch <= program.run->progress().epochs; ++epoch) {
      ran.losses.push_back(program.run->curve().value("train loss", epoch).value());
    }
  });
  for (const auto& values : ran.values) EXPECT_EQ(values, ran.values.front());
  return ran;
}

TEST(RelaxedRanksTest, EndWithTheSameParameters) {
  const Setting longer = {"longer", [](TrainingOptions& options) { options.epochs = 8; }};
  for (const Relaxation relaxation : {Relaxation{}, Relaxation{.staleness = 2},
                                      Relaxation{.staleness = 3}, Relaxation{.backup_ranks = 1}}) {
    for (unsigned ranks = 2; ranks <= 3; ++ranks) {
      const Ran ran = train(ranks, relaxed(relaxation, 4, longer));
      // Which gradients are how old is a matter of chance, so that not every epoch is better.
      EXPECT_LT(*std::min_element(ran.losses.begin() + 1, ran.losses.end()),
                0.98 * ran.losses.front())
          << ::testing::PrintToString(ran.losses);
      if (relaxation.backup_ranks == 0) {
        EXPECT_EQ(ran.updates, 8u * 13);
      }
    }
  }
}

TEST(RelaxedRanksTest, WithoutStalenessShareMinibatches) {
  EXPECT_EQ(train(3, relaxed({.staleness = 0})).values.front(),
            train(1, kPlain.with([](auto& o) { o.batch_size = 16; })).values.front());
}

/// Gradients of one minibatch of a model with one dense parameter and a table.
struct Model {
  ParameterCollection parameters;
  Parameter w = parameters.add_parameters({3}, ParameterInitConst(1), "w");
  LookupParameter table = parameters.add_lookup_parameters(5, {2}, ParameterInitConst(1), "table");
  SimpleSGDTrainer trainer{parameters, 0.5f};

  Gradients ones(unsigned row) const {
    Gradients gradients;
    auto* const dense = static_cast<float*>(gradients.dense(*w.p));
    std::fill_n(dense, 3, 1.0f);
    auto* const entry = reinterpret_cast<float*>(gradients.rows(*table.p).entry(*table.p, row));
    std::fill_n(entry, 2, 1.0f);
    return gradients;
  }
};

// Values follow from the number of updates alone, and workers see all that are done.
TEST(ParameterServerTest, EachMinibatchIsOneUpdateAndWorkersSeeIt) {
  for (const unsigned staleness : {2u, 4u, Relaxation::kUnbounded}) {
    std::mutex mutex;
    std::map<std::size_t, int> seen;
    std::vector<ParameterServer::Report> reports(3);
    run_ranks(3, [&](const Ranks& ranks) {
      Model model;
      ParameterServer server(ranks, model.trainer, {.staleness = staleness}, 2, 40);
      while (const auto minibatch = server.next()) {
        {
          const std::lock_guard lock(mutex);
          ++seen[*minibatch];
        }
        if (ranks->rank() == 2) std::this_thread::sleep_for(2ms);
        server.push(model.ones(static_cast<unsigned>(*minibatch) % 5), 0.125f, 1, 2);
        // The next values have this update, whatever others do.
      }
      const ParameterServer::Report report = server.finish();
      EXPECT_EQ(as_vector(model.w.values()), std::vector<float>(3, 1 - 38 * 0.125f));
      for (unsigned row = 0; row < 5; ++row) {
        const int updates = row < 2 ? 7 : 8;  // of 2 to 39
        EXPECT_EQ(as_vector(model.table.values(row)),
                  std::vector<float>(2, 1 - static_cast<float>(updates) * 0.125f))
            << row;
      }
      reports[ranks->rank()] = report;
    });
    EXPECT_EQ(seen.size(), 38u);
    for (const auto& [minibatch, times] : seen) EXPECT_EQ(times, 1) << minibatch;
    for (const auto& report : reports) {
      EXPECT_EQ(report.next, 40u);
      EXPECT_EQ(report.updates, 38u);
      EXPECT_EQ(report.losses, 76u);
      EXPECT_EQ(report.loss, 38.0);
      EXPECT_LE(report.most_staleness, staleness);
      EXPECT_GT(report.most_staleness, 0u);
      EXPECT_FALSE(report.stopped);
    }
  }
}

TEST(ParameterServerTest, AWorkerReadsWhatItHasWritten) {
  run_ranks(2, [&](const Ranks& ranks) {
    Model model;
    ParameterServer server(ranks, model.trainer, {}, 0, 30);
    float last = 1;
    while (server.next()) {
      const float now = as_vector(model.w.values())[0];
      if (last < 1) {
        EXPECT_LT(now, last);
      }
      last = now;
      server.push(model.ones(0), 0.125f, 0, 1);
      last -= 0.0625f;
    }
    server.finish();
  });
}

TEST(ParameterServerTest, BackupsAreNotWaitedFor) {
  std::vector<ParameterServer::Report> reports(3);
  run_ranks(3, [&](const Ranks& ranks) {
    Model model;
    ParameterServer server(ranks, model.trainer, {.backup_ranks = 1}, 0, 60);
    while (server.next()) {
      if (ranks->rank() == 2) std::this_thread::sleep_for(5ms);
      server.push(model.ones(1), {}, 1, 1);
    }
    reports[ranks->rank()] = server.finish();
    // Two gradients an update, but for the last one.
    const auto& report = reports[ranks->rank()];
    EXPECT_EQ(as_vector(model.w.values())[0], 1 - 0.5f * static_cast<float>(60 - report.dropped));
  });
  EXPECT_GT(reports[0].dropped, 0u);
  EXPECT_LT(reports[0].dropped, 30u);
  EXPECT_EQ(reports[0].most_staleness, 0u);
  EXPECT_EQ(reports[0].updates, (60 - reports[0].dropped + 1) / 2);
}

TEST(ParameterServerTest, MinibatchesWithoutGradientsAreNoUpdates) {
  for (const unsigned backups : {0u, 1u}) {
    run_ranks(2, [&](const Ranks& ranks) {
      Model model;
      ParameterServer server(ranks, model.trainer, {.backup_ranks = backups}, 0, 20);
      while (const auto minibatch = server.next()) {
        if (*minibatch % 2 == 0) continue;  // as if skip() were called
        server.push(model.ones(1), {}, 1, 1);
      }
      const auto report = server.finish();
      EXPECT_EQ(report.updates + report.skipped + report.dropped, 20u);
      EXPECT_EQ(as_vector(model.w.values())[0], 1 - 0.5f * static_cast<float>(report.updates));
      if (backups == 0) {
        EXPECT_EQ(report.updates, 10u);
      }
    });
  }
}

// A rate of its own is used as it is, for its own update; none means the trainer's, or the last
// one.
TEST(ParameterServerTest, RatesAreOfTheirUpdates) {
  using Rates = std::vector<std::optional<float>>;
  for (const auto& [rates, expected] :
       {std::pair(Rates{0.0f, {}, 0.25f}, 0.75f), {Rates{std::nullopt}, 0.5f}}) {
    Model model;
    ParameterServer server(single_process(), model.trainer, {}, 0, rates.size());
    for (const std::optional<float>& rate : rates) {
      ASSERT_TRUE(server.next());
      server.push(model.ones(0), rate, 0, 1);
    }
    EXPECT_FALSE(server.next());
    server.finish();
    EXPECT_EQ(as_vector(model.w.values())[0], expected);
  }
}

// Messages that were on their way when it failed are of no epoch, and all begin with the same
// values.
TEST(RelaxedRanksTest, GoOnTogetherAfterOneHasThrown) {
  for (unsigned count = 1; count <= 3; ++count) {
    std::mutex mutex;
    std::vector<std::vector<float>> values;
    std::promise<void> throws[2];
    const std::shared_future<void> has_thrown[] = {throws[0].get_future().share(),
                                                   throws[1].get_future().share()};
    run_ranks(count, [&](const Ranks& ranks) {
      Program program(relaxed({}, 2), "", false, ranks);
      for (unsigned failures = 0; failures < 2; ++failures) {
        EXPECT_THROW(program.train({},
                                   [&](TrainingRun& run, int) {
                                     if (run.progress().epochs != failures) return;
                                     if (ranks->rank() + 1 == count) {
                                       throws[failures].set_value();
                                       throw UsageError("no more power");
                                     }
                                     has_thrown[failures].wait_for(30s);  // it has something to do
                                   }),
                     std::exception);
      }
      program.train();
      EXPECT_EQ(program.run->progress().epochs, 3u);
      const std::lock_guard lock(mutex);
      values.push_back(program.values());
    });
    for (const auto& some : values) EXPECT_EQ(some, values.front());
  }
}

// Fewer minibatches than ranks: one of them has nothing to do.
TEST(RelaxedRanksTest, MayHaveNothingToDo) {
  EXPECT_EQ(train(3, relaxed({}, kSamples)).updates, 3u);
}

// Two gradients of which each may be used, but not their sum.
TEST(RelaxedRanksTest, SkipWhatCannotBeAddedUp) {
  run_ranks(3, [&](const Ranks& ranks) {
    ParameterCollection model;
    const Parameter w = model.add_parameters({1}, ParameterInitConst(1), "w");
    AdamTrainer trainer(model);
    TrainingOptions options;
    options.batch_size = 1;
    options.not_finite = NotFinite::skip;
    options.stopping.watch_interrupts = false;
    options.report.lines = nullptr;
    options.ranks = {.communicator = ranks, .relaxation = Relaxation{.backup_ranks = 1}};
    TrainingRun run(trainer, options);
    EXPECT_TRUE(run.next_epoch(12));
    Minibatch batch;
    while (run.next(batch)) {
      batch.add_loss(parameter(batch.new_graph(), w) * 5e18f);
      run.update(batch);
    }
    run.finish_epoch();
    EXPECT_LE(run.progress().updates, 1u);  // the last minibatch may be alone in its round
  });
}

// What a server would refuse is left out by the rank that has computed it.
TEST(RelaxedRanksTest, SkipWhatCannotBeUsed) {
  const Setting skips = {"skips", [](auto& options) { options.not_finite = NotFinite::skip; }};
  for (const float factor : {std::numeric_limits<float>::infinity(), 1e25f}) {
    run_ranks(2, [&](const Ranks& ranks) {
      Program program(relaxed({}, 16, skips), "", false, ranks);
      EXPECT_TRUE(program.run->next_epoch(kSamples));
      while (program.run->next(*program.batch)) {
        for (const std::uint32_t sample : program.run->samples()) {
          const Expression loss = program.loss(program.batch->new_graph(), sample);
          program.batch->add_loss(sample == 7 ? loss * factor : loss);
        }
        program.run->update(*program.batch);
      }
      program.run->finish_epoch();
      EXPECT_EQ(program.run->progress().skipped, 1u);
      EXPECT_EQ(program.run->progress().updates, 3u);
      for (const float value : program.values()) EXPECT_TRUE(std::isfinite(value));
    });
  }
}

TEST(RelaxedRanksTest, StopTogetherAndGoOnWithAnotherNumber) {
  for (const Relaxation relaxation : {Relaxation{.staleness = 2}, Relaxation{.backup_ranks = 1}}) {
    const std::string folder = new_folder("relaxed_ranks");
    run_ranks(3, [&](const Ranks& ranks) {
      Program program(relaxed(relaxation, 4), folder, false, ranks);
      program.train({}, [](TrainingRun& run, int) {
        if (run.progress().epochs == 1) run.stop();
      });
      EXPECT_TRUE(program.run->interrupted());
      EXPECT_EQ(program.run->progress().epochs, 1u);
      EXPECT_LT(program.run->progress().minibatches, 13u);
    });
    run_ranks(2, [&](const Ranks& ranks) {
      Program program(relaxed(relaxation, 4), folder, true, ranks);
      program.train();
      EXPECT_FALSE(program.run->interrupted());
      EXPECT_EQ(program.run->progress().epochs, 3u);
      if (relaxation.backup_ranks == 0) {
        EXPECT_EQ(program.run->progress().updates, 3u * 13);
      }
    });
  }
}

TEST(RelaxedRanksTest, EndWithOneThatThrows) {
  std::vector<std::string> messages(3);
  run_ranks(3, [&](const Ranks& ranks) {
    Program program(relaxed({}), "", false, ranks);
    const auto fail = [&](TrainingRun& run, int) {
      if (ranks->rank() == 1 && run.progress().epochs == 1) throw UsageError("no more power");
    };
    messages[ranks->rank()] = message_of<std::exception>([&] { program.train({}, fail); });
    program.run.reset();
  });
  EXPECT_EQ(messages[1], "no more power");
  for (const unsigned other : {0u, 2u}) {
    EXPECT_EQ(messages[other],
              "[ParameterServer] need all ranks to the end; got none of rank 1 (thread)");
  }
}

TEST(ParameterServerTest, NamesARankThatHangs) {
  for (const unsigned silent : {0u, 1u}) {
    const auto ranks = thread_ranks(2, 500ms);
    std::thread other([&] {
      Model model;
      ParameterServer server(ranks[silent], model.trainer, {.staleness = 1}, 0, 20);
      server.next();
      std::this_thread::sleep_for(1500ms);
    });
    Model model;
    ParameterServer server(ranks[1 - silent], model.trainer, {.staleness = 1}, 0, 20);
    const std::string message = message_of<RankError>([&] {
      while (server.next()) server.push(model.ones(0), {}, 0, 1);
    });
    EXPECT_EQ(
        message,
        "[ParameterServer] need each rank to ask for a minibatch within 0.5 s; got nothing from " +
            ranks[0]->name(silent));
    other.join();
  }
}

TEST(RelaxedRanksTest, RefuseWhatTheyCannotDo) {
  const auto message = [](Relaxation relaxation, const Setting& setting) {
    std::string text;
    run_ranks(2, [&](const Ranks& ranks) {
      const std::string mine = message_of<UsageError>(
          [&] { Program(relaxed(relaxation, 16, setting), "", false, ranks).train(); });
      if (ranks->rank() == 0) text = mine;
    });
    return text;
  };
  const auto with_trainer = [](const std::function<void(Trainer&)>& change) {
    return Setting{"trainer", [](TrainingOptions&) {}, change};
  };
  EXPECT_EQ(message({}, with_trainer([](auto& t) { t.sparse_updates = SparseUpdates::exact; })),
            "[ParameterServer] need lazy updates without weight decay for tables, so that rows "
            "without a gradient stay as they are; got exact updates with a decay of 0 for "
            "\"/embedding/E\"");
  EXPECT_TRUE(mentions(message({}, with_trainer([](auto& t) { t.weight_decay = 0.5f; })),
                       "got lazy updates with a decay of 0.5"));
  EXPECT_EQ(message({}, {"accumulation", [](auto& options) { options.accumulate = 2; }}),
            "[TrainingRun] need 1 minibatch per update where ranks do not wait for each other; got "
            "2");
  EXPECT_TRUE(mentions(message({.backup_ranks = 2}, kPlain), "need fewer backup ranks than ranks"));
}

/// Ranks of which one tells the others that gradients were older than they were.
class Older final : public Communicator {
 public:
  Older(Ranks ranks, std::uint64_t by) : ranks_(std::move(ranks)), by_(by) {}

  /// From now on it does.
  void begin_to_tell() { tells_ = true; }

  unsigned rank() const override { return ranks_->rank(); }
  unsigned size() const override { return ranks_->size(); }
  std::chrono::duration<double> time_limit() const override { return ranks_->time_limit(); }
  std::string name(unsigned rank) const override { return ranks_->name(rank); }
  void begin(Round& round) override {
    for (std::span<const std::byte>& to : round.to) {
      if (!tells_ || to.size() != sizeof(staleness_)) continue;
      std::memcpy(staleness_, to.data(), sizeof(staleness_));
      staleness_[0] += by_;
      to = std::as_bytes(std::span(staleness_));
    }
    ranks_->begin(round);
  }
  void end(Round& round) override { ranks_->end(round); }
  void progress() override { ranks_->progress(); }
  void send(unsigned to, Bytes bytes) override { ranks_->send(to, std::move(bytes)); }
  std::optional<Message> receive() override { return ranks_->receive(); }
  bool is_sending() override { return ranks_->is_sending(); }
  void fail(const std::string& why) override { ranks_->fail(why); }

 private:
  Ranks ranks_;
  std::uint64_t by_;
  bool tells_ = false;
  std::uint64_t staleness_[3];  // the largest, the sum, and the number of updates
};

TEST(StalenessTest, TheLargestIsThatOfAnyRank) {
  constexpr std::uint64_t kMuch = 1000;
  for (const unsigned oldest : {0u, 1u, 2u}) {
    run_ranks(3, [&](const Ranks& ranks) {
      Model model;
      const auto telling = std::make_shared<Older>(ranks, ranks->rank() == oldest ? kMuch : 0);
      ParameterServer server(telling, model.trainer, {.staleness = 2}, 0, 6);
      while (server.next()) server.push(model.ones(0), 0.125f, 0, 1);
      telling->begin_to_tell();
      EXPECT_GE(server.finish().most_staleness, kMuch) << oldest;
    });
  }
}

}  // namespace
}  // namespace dynet_like::nn
