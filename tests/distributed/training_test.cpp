// Training runs of several ranks: what is shared and shown, and what comes of ranks that fail or
// differ.
#include <regex>

#include "dynet_like/core/errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/timeline_events.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

// Within a shard, repeated vertices run once.
TEST(SharingRanksTest, TrainWithTheSameBitsWhateverTheirNumber) {
  const auto train_with = [](unsigned ranks, unsigned threads) {
    std::vector<std::vector<unsigned>> sentences(30);
    Random random(5);
    for (auto& sentence : sentences) {
      sentence.resize(1 + random.below(5));
      for (unsigned& word : sentence) word = random.below(3);
    }
    std::vector<std::vector<float>> values(ranks);
    run_ranks(ranks, [&](const Ranks& communicator) {
      ParameterCollection model(1);
      const Embedding words(model, 3, 6);
      const LSTM lstm(model, 6, 8);
      AdamTrainer trainer(model);
      TrainingOptions options;
      options.epochs = 2;
      options.batch_size = 16;
      options.report.lines = nullptr;
      options.stopping.watch_interrupts = false;
      options.ranks.communicator = communicator;
      options.ranks.shards = 4;
      options.graph = {.threads = threads, .share_repeated = true};
      const auto loss_of = [&](ComputationGraph& graph, const std::vector<unsigned>& sentence) {
        return squared_norm(lstm(words.columns(graph, sentence)).all().h);
      };
      train(trainer, sentences, loss_of, options);
      values[communicator->rank()] = values_of(model);
    });
    EXPECT_EQ(values, std::vector(ranks, values.front()));
    return values.front();
  };
  const std::vector<float> one = train_with(1, 1);
  EXPECT_EQ(train_with(1, 3), one);
  EXPECT_EQ(train_with(2, 1), one);
  EXPECT_EQ(train_with(3, 2), one);
}

// Of the time of an epoch's minibatches: where it went.
TEST(RankTimesTest, AreOnATimeline) {
  const auto events_of = [](const Ranks& ranks) {
    Timeline timeline;
    Program(kPlain.with([&](auto& o) { o.report.timeline = &timeline; }), "", false, ranks).train();
    const TimelineEvents events(timeline.json());
    events.expect_nested();
    return std::pair(events.named("ranks").size(), events.named("update").size());
  };
  EXPECT_EQ(events_of(single_process()).first, 0u);
  run_ranks(2, [&](const Ranks& ranks) {
    const auto [waits, updates] = events_of(ranks);
    EXPECT_GT(updates, 0u);
    EXPECT_GE(waits, 3 * updates);  // for gradients, losses and sums
  });
}

TEST(RankTimesTest, AreInTheLineOfAnEpoch) {
  std::ostringstream lines, nothing;
  run_ranks(2, [&](const Ranks& ranks) {
    const Setting printing = kPlain.with([&](TrainingOptions& options) {
      options.report.lines = ranks->rank() == 0 ? &lines : &nothing;
      options.epochs = 1;
    });
    Program(printing, "", false, ranks).train();
  });
  EXPECT_EQ(nothing.str(), "");
  std::smatch shares;
  const std::string text = lines.str();
  ASSERT_TRUE(std::regex_search(
      text, shares,
      std::regex("communication ([0-9.]+) %, waiting ([0-9.]+) %, imbalance ([0-9.]+) %")))
      << text;
  double all = 0;
  for (const std::size_t i : {1, 2, 3}) all += std::stod(shares[i].str());
  EXPECT_GT(all, 0);
  EXPECT_LE(std::stod(shares[1].str()) + std::stod(shares[2].str()), 101) << text;
  std::ostringstream alone;
  Program(kPlain.with([&](auto& o) { o.report.lines = &alone; }), "", false, single_process())
      .train();
  EXPECT_FALSE(mentions(alone.str(), "communication"));
}

std::string failure_of(unsigned ranks, const std::function<void(const Ranks&)>& f) {
  return message_of<std::exception>([&] { run_ranks(ranks, f); });
}

// One that is gone takes no more than what came after the last update.
TEST(RankFaultsTest, LeaveACheckpointThatFewerGoOnFrom) {
  const std::string folder = new_folder("lost");
  Program whole(kPlain, "", false, single_process());
  whole.train();
  EXPECT_EQ(failure_of(3,
                       [&](const Ranks& ranks) {
                         Program program(kPlain, folder, false, ranks);
                         program.train({}, [&](TrainingRun&, int minibatch) {
                           if (minibatch == 9 && ranks->rank() == 2) {
                             throw std::runtime_error("no more power");
                           }
                         });
                       }),
            "[Communicator] need all ranks; got none of rank 2 (thread): no more power; the last "
            "update is saved in " +
                folder + "/checkpoint.safetensors: go on from there, with fewer ranks if need be");
  run_ranks(2, [&](const Ranks& ranks) {
    Program rest(kPlain, folder, true, ranks);
    EXPECT_EQ(rest.run->progress().updates, 10u);
    rest.train();
    EXPECT_TRUE(rest.outcome() == whole.outcome());
  });
}

/// What ranks do differently in the first epoch of their runs, and what they are told.
struct Mistake {
  const char* name;
  std::function<void(Program&, unsigned rank)> run;
  std::string message;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

std::vector<Mistake> mistakes() {
  // Records and updates each minibatch.
  const auto train = [](Program& program, const std::function<void()>& before_update) {
    program.run->next_epoch(kSamples);
    while (program.run->next(*program.batch)) {
      program.record();
      before_update();
      program.run->update(*program.batch);
    }
  };
  const char* const place = "what ranks do must not depend on the rank";
  return {
      {"Draws",
       [=](Program& program, unsigned rank) {
         train(program, [&] {
           for (unsigned i = 0; i <= rank; ++i) program.run->random().below(3);
         });
       },
       "got a position of random()"},
      {"FewerGraphs",
       [](Program& program, unsigned) {
         program.run->next_epoch(kSamples);
         while (program.run->next(*program.batch)) {
           program.batch->add_loss(program.loss(program.batch->new_graph(), 0));
           program.run->update(*program.batch);
         }
       },
       "[TrainingRun] need a graph for each sample that the loop is given, in this order, to sum "
       "their gradients by shards; got 1 for "},
      {"OtherSamples",
       [](Program& program, unsigned rank) {
         program.run->next_epoch(Minibatches{{0, 1, rank}});
         program.run->next(*program.batch);
         program.run->update(*program.batch, 0);
       },
       "with the fingerprint"},
      {"PassesOver",
       [=](Program& program, unsigned rank) {
         program.run->next_epoch(kSamples);
         unsigned minibatch = 0;
         while (program.run->next(*program.batch)) {
           if (minibatch++ == 1 && rank == 1) continue;
           program.record();
           program.run->update(*program.batch);
         }
       },
       place},
      {"Score",
       [](Program& program, unsigned rank) {
         program.pass_over();
         program.run->finish_epoch(static_cast<double>(rank));
       },
       "need the same dev score on all ranks; got 0 on rank 0 and 1 on rank 1"},
      {"GradientsOfItsOwn",
       [](Program& program, unsigned) {
         program.run->next_epoch(kSamples);
         program.run->next(*program.batch);
         program.run->update(Gradients(), 0, 0);
       },
       "[TrainingRun] need update(minibatch) where ranks or shards train together; got gradients "
       "for 2 ranks and 8 shards"},
  };
}

class RankMistakes : public ::testing::TestWithParam<Mistake> {};
INSTANTIATE_TEST_SUITE_P(All, RankMistakes, ::testing::ValuesIn(mistakes()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RankMistakes, AreTold) {
  const std::string message = failure_of(2, [&](const Ranks& ranks) {
    Program program(kPlain, "", false, ranks);
    GetParam().run(program, ranks->rank());
  });
  EXPECT_TRUE(mentions(message, GetParam().message));
}

TEST(RankFaultsTest, NeedAShardForEachRank) {
  EXPECT_EQ(failure_of(3,
                       [](const Ranks& ranks) {
                         const auto two = [](auto& o) { o.ranks.shards = 2; };
                         Program(kPlain.with(two), "", false, ranks);
                       }),
            "[TrainingRun] need a shard for each rank (a run that has begun with fewer goes on "
            "with fewer ranks); got 2 for 3 ranks");
}

// What a rank throws, the others throw too, and all can go on: nobody has updated anything.
TEST(RankFaultsTest, ThrowTogether) {
  const Setting large = kPlain.with([](auto& o) { o.batch_size = 25; });  // samples for each rank
  Program whole(large, "", false, single_process());
  whole.train();
  run_ranks(2, [&](const Ranks& ranks) {
    Program program(large, "", false, ranks);
    const auto train = [&] {
      EXPECT_TRUE(program.run->next_epoch(kSamples));
      while (program.run->next(*program.batch)) {
        program.record();
        if (ranks->rank() == 1) {
          program.run->random().below(3);  // what it draws is forgotten, too
          program.batch->add_loss(
              input(program.batch->graph(0), std::numeric_limits<float>::infinity()));
        }
        program.run->update(*program.batch);
      }
    };
    if (ranks->rank() == 1) {
      EXPECT_THROW(train(), NumericError);
    } else {
      const std::string message = message_of<RankError>(train);
      EXPECT_EQ(message.rfind("[TrainingRun] need all ranks; rank 1 (thread) has failed: "
                              "[Minibatch] need a finite loss; got inf in sample 0",
                              0),
                0u)
          << message;
    }
    program.train();
    EXPECT_TRUE(program.outcome() == whole.outcome());
  });
}

TEST(RankFaultsTest, SkipTheSameUpdates) {
  const auto train = [](const Ranks& ranks) {
    Program program(kPlain.with([](auto& o) { o.not_finite = NotFinite::skip; }), "", false, ranks);
    while (program.run->next_epoch(kSamples)) {
      while (program.run->next(*program.batch)) {
        program.batch->add_losses(program.run->samples().size(), [&](auto& graph, auto i) {
          const std::uint32_t sample = program.run->samples()[i];
          const Expression loss = program.loss(graph, sample);
          return sample == 7 ? loss * std::numeric_limits<float>::infinity() : loss;
        });
        program.run->update(*program.batch);
      }
      program.run->finish_epoch();
    }
    EXPECT_EQ(program.run->progress().skipped, 3u);
    return program.outcome();
  };
  const Outcome one = train(single_process());
  run_ranks(3, [&](const Ranks& ranks) { EXPECT_TRUE(train(ranks) == one); });
}

}  // namespace
}  // namespace dynet_like::nn
