// Ranks that do not wait for each other: what one of them trains alone, that all end with the same
// parameters, how stale gradients get, and what comes of ranks that stop, fail or hang.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/parameter_server.h"
#include "tests/distributed/program.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

using namespace ranks_program;
using namespace std::chrono_literals;
using Ranks = std::shared_ptr<Communicator>;

Setting relaxed(const Setting& setting, Relaxation relaxation) {
  return {setting.name,
          [=](TrainingOptions& options) {
            setting.options(options);
            options.relaxation = relaxation;
          },
          setting.trainer};
}

Setting alone(const Setting& setting) {
  return {setting.name,
          [=](TrainingOptions& options) {
            setting.options(options);
            options.shards = 1;
          },
          setting.trainer};
}

std::vector<Setting> exact_settings() {
  return {
      {"plain"},
      {"sums", [](TrainingOptions& options) { options.sum_losses = true; }},
      {"clipping", [](TrainingOptions&) {},
       [](Trainer& trainer) { trainer.enable_clipping(0.05f); }},
      {"averages", [](TrainingOptions&) {},
       [](Trainer& trainer) { trainer.exponential_moving_average(0.8f); }},
      {"schedule",
       [](TrainingOptions& options) {
         options.schedule = WarmUp{3, CosineRate{0.05f, 12, 0.001f}};
       }},
      {"groups", [](TrainingOptions&) {},
       [](Trainer& trainer) {
         trainer.set_groups({{.pattern = "*/b", .rate = 0.1f, .weight_decay = 0.1f}});
       }},
      {"groups_by_epoch",
       [](TrainingOptions& options) {
         options.groups = {{1, {{.pattern = "/embedding*", .frozen = true}}},
                           {2, {{.pattern = "*/b", .rate = 0.1f}}}};
       }},
      {"cycle", [](TrainingOptions&) {},
       [](Trainer& trainer) {
         trainer.follow({.rate_min = 0.001f, .rate_max = 0.05f, .step_size = 3});
       }},
  };
}

class OneRelaxedRank : public testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(All, OneRelaxedRank, testing::ValuesIn(exact_settings()),
                         [](const auto& test) { return test.param.name; });

// A server's copies of parameters and trainer are as good as the originals.
TEST_P(OneRelaxedRank, HasTheBitsOfAProcessWithoutAServer) {
  Program expected(alone(GetParam()), nullptr, "");
  expected.train();
  Program program(relaxed(GetParam(), {}), single_process(), "");
  program.train();
  EXPECT_EQ(program.values(), expected.values());
  EXPECT_EQ(program.run->curve().to_csv(), expected.run->curve().to_csv());
  EXPECT_EQ(program.run->progress().updates, expected.run->progress().updates);
  EXPECT_EQ(program.trainer.updates(), expected.trainer.updates());
  EXPECT_EQ(program.trainer.learning_rate, expected.trainer.learning_rate);
}

struct Ran {
  std::vector<std::vector<float>> values;    // by rank
  std::map<std::uint32_t, int> minibatches;  // how often one was trained on
  std::vector<double> losses;                // of epochs
  std::uint64_t updates = 0;
};

/// Lets ranks train; the last one is slow.
Ran train(unsigned ranks, Relaxation relaxation, const Setting& setting = {"plain"}) {
  Ran ran;
  std::mutex mutex;
  run_ranks(ranks, [&](const Ranks& communicator) {
    Program program(relaxed(setting, relaxation), communicator, "");
    program.after_update = [&](TrainingRun& run, std::uint64_t) {
      if (run.ranks().rank() + 1 == ranks) std::this_thread::sleep_for(10ms);
    };
    program.train();
    const std::lock_guard lock(mutex);
    ran.values.push_back(program.values());
    ran.updates = program.run->progress().updates;
    ran.losses.clear();
    for (unsigned epoch = 1; epoch <= program.run->progress().epochs; ++epoch) {
      ran.losses.push_back(program.run->curve().value("train loss", epoch).value());
    }
  });
  return ran;
}

TEST(RelaxedRanksTest, EndWithTheSameParameters) {
  const Setting longer = {"longer", [](TrainingOptions& options) {
                            options.epochs = 8;
                            options.batch_size = 4;
                          }};
  for (const Relaxation relaxation : {Relaxation{}, Relaxation{.staleness = 2},
                                      Relaxation{.staleness = 3}, Relaxation{.backup_ranks = 1}}) {
    for (unsigned ranks = 2; ranks <= 3; ++ranks) {
      const Ran ran = train(ranks, relaxation, longer);
      for (const auto& values : ran.values) EXPECT_EQ(values, ran.values.front());
      // Which gradients are how old is a matter of chance, so that not every epoch is better.
      EXPECT_LT(*std::min_element(ran.losses.begin() + 1, ran.losses.end()),
                0.98 * ran.losses.front())
          << testing::PrintToString(ran.losses);
      if (relaxation.backup_ranks == 0) {
        EXPECT_EQ(ran.updates, 8u * 16);
      }
    }
  }
}

TEST(RelaxedRanksTest, WithoutStalenessShareMinibatches) {
  const Ran synchronous = train(3, {.staleness = 0});
  Program alone(Setting{"plain"}, nullptr, "");
  alone.train();
  for (const auto& values : synchronous.values) EXPECT_EQ(values, alone.values());
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

// A rate of its own is used as it is, and none means the trainer's.
TEST(ParameterServerTest, ARateOfZeroIsARate) {
  Model model;
  ParameterServer server(single_process(), model.trainer, {}, 0, 3);
  for (const auto& rate : std::vector<std::optional<float>>{0.0f, {}, 0.25f}) {
    ASSERT_TRUE(server.next());
    server.push(model.ones(0), rate, 0, 1);
  }
  EXPECT_FALSE(server.next());
  server.finish();
  // Zero; then the last rate that the trainer had; then a quarter.
  EXPECT_EQ(as_vector(model.w.values())[0], 0.75f);
}

TEST(ParameterServerTest, ARateIsOfItsOwnUpdate) {
  Model model;
  ParameterServer server(single_process(), model.trainer, {}, 0, 1);
  ASSERT_TRUE(server.next());
  server.push(model.ones(0), {}, 0, 1);
  EXPECT_FALSE(server.next());
  server.finish();
  EXPECT_EQ(as_vector(model.w.values())[0], 0.5f);
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
      const Setting small = {"small", [](TrainingOptions& options) { options.batch_size = 2; }};
      Program program(relaxed(small, {}), ranks, "");
      unsigned failures = 0;
      const auto fail = [&](TrainingRun& run, std::uint64_t) {
        const bool is_due = run.progress().epochs == failures && failures < 2;
        if (!is_due) return;
        if (ranks->rank() + 1 == count) {
          throws[failures].set_value();
          throw UsageError("no more power");
        }
        has_thrown[failures].wait_for(30s);  // so that it has something to do
      };
      for (; failures < 2; ++failures) {
        program.after_update = fail;
        EXPECT_THROW(program.train(), std::exception);
      }
      program.after_update = {};
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
  const Setting one = {"one", [](TrainingOptions& options) { options.batch_size = kSamples; }};
  const Ran ran = train(3, {}, one);
  EXPECT_EQ(ran.updates, 3u);
  for (const auto& values : ran.values) EXPECT_EQ(values, ran.values.front());
}

// Two gradients of which each may be used, but not their sum.
TEST(RelaxedRanksTest, SkipWhatCannotBeAddedUp) {
  run_ranks(3, [&](const Ranks& ranks) {
    ParameterCollection model;
    const Parameter w = model.add_parameters({1}, ParameterInitConst(1), "w");
    AdamTrainer trainer(model);
    TrainingOptions options;
    options.epochs = 1;
    options.batch_size = 1;
    options.shards = 1;
    options.ranks = ranks;
    options.lines = nullptr;
    options.watch_interrupts = false;
    options.not_finite = NotFinite::skip;
    options.relaxation = Relaxation{.backup_ranks = 1};
    TrainingRun run(model, trainer, options);
    EXPECT_TRUE(run.next_epoch());
    Minibatch batch;
    for (const auto& samples : run.minibatches(batch, 12)) {
      batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t) {
        return parameter(graph, w) * 5e18f;
      });
      run.update(batch);
    }
    run.finish_epoch();
    EXPECT_LE(run.progress().updates, 1u);  // the last minibatch may be alone in its round
  });
}

// What a server would refuse is left out by the rank that has computed it.
TEST(RelaxedRanksTest, SkipWhatCannotBeUsed) {
  for (const float factor : {std::numeric_limits<float>::infinity(), 1e25f}) {
    run_ranks(2, [&](const Ranks& ranks) {
      const Setting skips = {"skips", [](TrainingOptions& options) {
                               options.not_finite = NotFinite::skip;
                               options.relaxation = Relaxation{};
                               options.epochs = 1;
                             }};
      Program program(skips, ranks, "");
      EXPECT_TRUE(program.run->next_epoch());
      for (const auto& samples : program.run->minibatches(*program.batch, Program::sizes())) {
        program.batch->add_losses(samples.size(), [&](auto& graph, auto i) {
          const Expression loss = program.loss(graph, samples[i]);
          return samples[i] == 7 ? loss * factor : loss;
        });
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
  const auto folder = std::filesystem::path(testing::TempDir()) / "relaxed_ranks";
  const Setting small = {"small", [](TrainingOptions& options) { options.batch_size = 4; }};
  for (const Relaxation relaxation : {Relaxation{.staleness = 2}, Relaxation{.backup_ranks = 1}}) {
    std::filesystem::remove_all(folder);
    run_ranks(3, [&](const Ranks& ranks) {
      Program program(relaxed(small, relaxation), ranks, folder);
      program.after_update = [&](TrainingRun& run, std::uint64_t) {
        if (run.progress().epochs == 1) run.stop();
      };
      program.train();
      EXPECT_TRUE(program.run->interrupted());
      EXPECT_EQ(program.run->progress().epochs, 1u);
      EXPECT_LT(program.run->progress().minibatches, 16u);
    });
    run_ranks(2, [&](const Ranks& ranks) {
      Program program(relaxed(small, relaxation), ranks, folder, true);
      program.train();
      EXPECT_FALSE(program.run->interrupted());
      EXPECT_EQ(program.run->progress().epochs, 3u);
      if (relaxation.backup_ranks == 0) {
        EXPECT_EQ(program.run->progress().updates, 48u);
      }
    });
  }
}

TEST(RelaxedRanksTest, EndWithOneThatThrows) {
  std::vector<std::string> messages(3);
  run_ranks(3, [&](const Ranks& ranks) {
    Program program(relaxed({"plain"}, {}), ranks, "");
    program.after_update = [&](TrainingRun& run, std::uint64_t) {
      if (ranks->rank() == 1 && run.progress().epochs == 1) throw UsageError("no more power");
    };
    messages[ranks->rank()] = message_of<std::exception>([&] { program.train(); });
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
      const std::string mine =
          message_of<UsageError>([&] { Program(relaxed(setting, relaxation), ranks, "").train(); });
      if (ranks->rank() == 0) text = mine;
    });
    return text;
  };
  EXPECT_EQ(message({}, {"exact", [](TrainingOptions&) {},
                         [](Trainer& trainer) { trainer.sparse_updates = SparseUpdates::exact; }}),
            "[ParameterServer] need lazy updates without weight decay for tables, so that rows "
            "without a gradient stay as they are; got exact updates with a decay of 0 for "
            "\"/embedding/E\"");
  EXPECT_NE(message({}, {"decay", [](TrainingOptions&) {},
                         [](Trainer& trainer) { trainer.weight_decay = 0.5f; }})
                .find("got lazy updates with a decay of 0.5"),
            std::string::npos);
  EXPECT_EQ(message({}, {"accumulation", [](TrainingOptions& options) { options.accumulate = 2; }}),
            "[TrainingRun] need 1 minibatch per update where ranks do not wait for each other; got "
            "2");
  EXPECT_NE(message({.backup_ranks = 2}, {"plain"}).find("need fewer backup ranks than ranks"),
            std::string::npos);
}

}  // namespace
}  // namespace dynet_like::nn
