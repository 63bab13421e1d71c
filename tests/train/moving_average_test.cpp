// Moving averages of parameters: their values, swaps, what is refused, states and checkpoints.
#include "dynet_like/core/errors.h"
#include "dynet_like/io/checkpoint.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

// A matrix, a table and what trains them, always in the same way.
struct Training {
  ParameterCollection model;
  Parameter matrix, fixed;
  LookupParameter table;
  AdamTrainer trainer;
  Random random;

  explicit Training(DType dtype = DType::f64, std::uint64_t seed = 1)
      : model(seed, dtype),
        matrix(model.add_parameters({3, 4}, "W")),
        fixed(model.add_parameters({2}, "fixed")),
        table(model.add_lookup_parameters(5, {3}, "table")),
        trainer(model, 0.1f),
        random(seed) {
    fixed.set_updated(false);
  }

  void step() {
    Gradients gradients;
    add_to(gradients, matrix, random_values(random, 12));
    add_to(gradients, table, random.below(4), random_values(random, 3));
    trainer.update(gradients);
  }
  // The values of the matrix and of the whole table.
  Doubles values() const {
    Doubles all = as_doubles(matrix.values()), rows = as_doubles(table.all_values());
    all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }
};

void expect_near(const Doubles& got, const Doubles& expected, double bound) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], bound) << i;
}

TEST(MovingAverageTest, CumulativeIsTheMean) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
      for (const unsigned freq : {1u, 2u, 3u}) {
        Training training(dtype);
        training.trainer.sparse_updates = mode;
        training.trainer.cumulative_moving_average(freq);
        EXPECT_EQ(training.trainer.moving_average(), MovingAverage::Cumulative);
        Doubles sum(training.values().size(), 0.0);
        for (unsigned t = 1; t <= 20; ++t) {
          training.step();
          const Doubles values = training.values();
          for (std::size_t i = 0; i < sum.size() && t % freq == 0; ++i) sum[i] += values[i];
        }
        for (double& x : sum) x /= 20 / freq;
        training.trainer.swap_params_to_moving_average(true, true);  // there is no bias
        expect_near(training.values(), sum, dtype == DType::f32 ? 1e-6 : 1e-14);
      }
    }
  }
}

TEST(MovingAverageTest, ExponentialBeginsAtZero) {
  for (const bool correction : {false, true}) {
    Training training;
    training.trainer.sparse_updates = SparseUpdates::exact;
    training.trainer.exponential_moving_average(0.75f, 2);
    EXPECT_EQ(training.trainer.moving_average(), MovingAverage::Exponential);
    Doubles expected(training.values().size(), 0.0);
    for (int t = 1; t <= 11; ++t) {
      training.step();
      if (t % 2 != 0) continue;
      const Doubles values = training.values();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] = 0.75 * expected[i] + 0.25 * values[i];
      }
    }
    const double divisor = correction ? 1 - std::pow(0.75, 5) : 1;
    for (double& x : expected) x /= divisor;
    training.trainer.swap_params_to_moving_average(false, correction);
    expect_near(training.values(), expected, 1e-14);
  }
}

TEST(MovingAverageTest, SwapsLeaveNoTrace) {
  for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
    Training training, undisturbed;
    for (Training* each : {&training, &undisturbed}) {
      each->trainer.sparse_updates = mode;
      each->trainer.cumulative_moving_average();
    }
    const std::vector<float> fixed = as_vector(training.fixed.values());
    for (int t = 0; t < 10; ++t) {
      training.step();
      undisturbed.step();
      const std::uint64_t version = training.matrix.get_storage().values.version();
      training.trainer.swap_params_to_moving_average();
      EXPECT_EQ(training.matrix.get_storage().values.version(), version + 1);
      EXPECT_EQ(training.values() != undisturbed.values(), t > 0);
      EXPECT_EQ(as_vector(training.fixed.values()), fixed);
      training.trainer.swap_params_to_weights();
      EXPECT_EQ(training.values(), undisturbed.values());
    }
    training.trainer.swap_params_to_moving_average();
    undisturbed.trainer.swap_params_to_moving_average();
    EXPECT_EQ(training.values(), undisturbed.values());
  }
}

TEST(MovingAverageTest, LaterParametersHaveAveragesOfTheirOwn) {
  ParameterCollection model(1, DType::f64);
  const Parameter early = model.add_parameters({1}, ParameterInitConst(1));
  SimpleSGDTrainer trainer(model, 1);
  trainer.cumulative_moving_average();
  for (int i = 0; i < 3; ++i) trainer.update({});
  const Parameter late = model.add_parameters({1}, ParameterInitConst(8));
  trainer.update({});
  Gradients gradients;
  add_to(gradients, early, {-5.0});
  add_to(gradients, late, {-2.0});
  trainer.update(gradients);
  early.set_updated(false);  // stays as it is from now on
  trainer.swap_params_to_moving_average();
  EXPECT_EQ(early.values().at(0), 6.0);
  EXPECT_EQ(late.values().at(0), 9.0);
  trainer.swap_params_to_weights();
  EXPECT_EQ(early.values().at(0), 6.0);
  EXPECT_EQ(late.values().at(0), 10.0);
}

TEST(MovingAverageTest, WrongCallsChangeNothing) {
  Training training;
  AdamTrainer& trainer = training.trainer;
  const auto refused = [&](const std::function<void()>& call) {
    const Doubles before = training.values();
    const std::uint64_t updates = trainer.updates();
    const std::string message = message_of<UsageError>(call);
    EXPECT_EQ(training.values(), before);
    EXPECT_EQ(trainer.updates(), updates);
    return message;
  };
  const auto swap_in = [&] { trainer.swap_params_to_moving_average(); };
  const auto swap_out = [&] { trainer.swap_params_to_weights(); };
  EXPECT_EQ(refused(swap_in),
            "[Trainer] need moving averages that were taken in an update; got none");
  EXPECT_EQ(refused(swap_out),
            "[Trainer] need moving averages in place of the parameters, and saved weights; got the "
            "weights in their place");
  EXPECT_EQ(refused([&] { trainer.exponential_moving_average(1.0f); }),
            "[Trainer] need 0 < beta < 1 for the moving average; got 1");
  EXPECT_TRUE(
      mentions(refused([&] { trainer.exponential_moving_average(std::nanf("")); }), "got nan"));
  EXPECT_EQ(refused([&] { trainer.cumulative_moving_average(0); }),
            "[Trainer] need an update_freq of the moving average above 0; got 0");
  EXPECT_EQ(trainer.moving_average(), MovingAverage::None);
  trainer.cumulative_moving_average(2);
  training.step();
  EXPECT_TRUE(mentions(refused(swap_in), "got none"));  // the second is averaged
  EXPECT_EQ(refused([&] { trainer.exponential_moving_average(0.5f); }),
            "[Trainer] need moving averages from the first update on; got 1 before them");
  training.step();
  swap_in();
  EXPECT_TRUE(mentions(refused(swap_in), "already"));
  const std::string in_place =
      "[Trainer] need the weights in their place, by swap_params_to_weights() or restart(); got "
      "their moving averages";
  EXPECT_EQ(refused([&] { trainer.update({}); }), in_place);
  EXPECT_EQ(refused([&] { trainer.state(); }), in_place);
  Training other;
  EXPECT_EQ(refused([&] { trainer.load_state(other.trainer.state()); }), in_place);
  swap_out();
  trainer.swap_params_to_moving_average(false);
  EXPECT_TRUE(mentions(refused(swap_out), "got averages, but no saved weights"));
  const Doubles averages = training.values();
  trainer.restart();  // and goes on from them
  EXPECT_EQ(training.values(), averages);
  EXPECT_TRUE(mentions(refused(swap_in), "got none"));
  trainer.exponential_moving_average(0.5f);
  training.step();
  swap_in();
}

TEST(MovingAverageTest, IsPartOfTheState) {
  Training training;
  training.trainer.exponential_moving_average(0.5f);
  for (int i = 0; i < 3; ++i) training.step();
  const TrainerState state = training.trainer.state();
  ASSERT_EQ(state.averages.size(), 2u);
  EXPECT_EQ(state.averages[0].count, 3u);
  training.trainer.load_state(state);  // from its own memory
  AdamTrainer other(training.model);
  other.load_state(training.trainer.state());
  EXPECT_EQ(other.moving_average(), MovingAverage::Exponential);
  training.trainer.swap_params_to_moving_average(true, true);
  const Doubles averages = training.values();
  training.trainer.swap_params_to_weights();
  other.swap_params_to_moving_average(true, true);
  EXPECT_EQ(training.values(), averages);

  const auto refused = [&](const std::function<void(TrainerState&)>& alter) {
    TrainerState bad = training.trainer.state();
    alter(bad);
    AdamTrainer fresh(training.model);
    const std::string message = message_of<UsageError>([&] { fresh.load_state(bad); });
    EXPECT_EQ(fresh.moving_average(), MovingAverage::None);
    EXPECT_EQ(fresh.updates(), 0u);
    return message;
  };
  EXPECT_TRUE(
      mentions(refused([](auto& bad) { bad.averages[1].count = 0; }), "0 values of \"/table\""));
  EXPECT_TRUE(mentions(refused([](auto& bad) { bad.averages[1] = bad.averages[0]; }), "\"/W\""));
  EXPECT_TRUE(
      mentions(refused([](auto& bad) { bad.moving_average = {}; }), "none without averaging"));
  EXPECT_TRUE(mentions(refused([](auto& bad) { bad.averages[0].values.d = Dim({12}); }),
                       "need double {3,4} for \"average\" of \"/W\"; got double {12}"));
  EXPECT_TRUE(mentions(refused([](auto& bad) { bad.moving_average.beta = 2; }), "beta"));
  Training foreign;
  EXPECT_TRUE(
      mentions(refused([&](auto& bad) { bad.averages[0].parameter = foreign.matrix.p; }), "\"/W"));
}

class AverageFileTest : public FolderTest {
 protected:
  void save(Training& training) const {
    save_checkpoint(path(), training.model, training.trainer, training.random);
  }
  void load(Training& training) const {
    load_checkpoint(path(), training.model, training.trainer, training.random);
  }
};

TEST_F(AverageFileTest, CheckpointsGoOnWithTheSameBits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const bool exponential : {false, true}) {
      Training whole(dtype), second(dtype, 99);
      exponential ? whole.trainer.exponential_moving_average(0.9f, 2)
                  : whole.trainer.cumulative_moving_average(3);
      whole.trainer.weight_decay = 0.01f;
      whole.trainer.enable_clipping(2.5f);
      for (int i = 0; i < 7; ++i) whole.step();
      save(whole);
      second.step();
      load(second);
      EXPECT_EQ(second.trainer.weight_decay, 0.01f);
      EXPECT_EQ(second.trainer.moving_average(), whole.trainer.moving_average());
      EXPECT_GT(second.trainer.clipped_updates(), 0u);
      EXPECT_EQ(second.trainer.clipped_updates(), whole.trainer.clipped_updates());
      for (int i = 0; i < 7; ++i) whole.step(), second.step();
      EXPECT_EQ(second.values(), whole.values());
      whole.trainer.swap_params_to_moving_average(true, true);
      second.trainer.swap_params_to_moving_average(true, true);
      EXPECT_EQ(second.values(), whole.values());
    }
  }
}

// Files of before there were averages and decays, and files with one thing changed.
TEST_F(AverageFileTest, OldFilesLoadAndBadOnesAreRefused) {
  Training training;
  training.trainer.cumulative_moving_average();
  training.trainer.weight_decay = 0.01f;
  training.step();
  const auto load_altered = [&](const std::function<void(std::string&)>& rename,
                                const std::function<void(Metadata&)>& alter) {
    save(training);
    const SafetensorsFile good = SafetensorsFile::read(path());
    std::vector<TensorEntry> entries(good.entries().begin(), good.entries().end());
    Metadata metadata = good.metadata();
    for (TensorEntry& entry : entries) rename(entry.name);
    std::erase_if(entries, [](const TensorEntry& entry) { return entry.name.empty(); });
    alter(metadata);
    write_safetensors(path(), entries, metadata);
    Training fresh;
    const std::string message = message_of<FileError>([&] { load(fresh); });
    EXPECT_EQ(fresh.trainer.moving_average(), MovingAverage::None);
    EXPECT_EQ(fresh.trainer.weight_decay, 0.0f);
    return message;
  };
  const auto keep = [](std::string&) {};
  const auto is_newer = [](const auto& item) {
    return item.first.starts_with("dynet_like.moving_average") ||
           item.first == "dynet_like.weight_decay" || item.first == "dynet_like.clipped_updates";
  };
  const auto drop_averages = [](std::string& name) {
    if (name.starts_with("trainer/average/")) name.clear();
  };
  EXPECT_EQ(load_altered(drop_averages,
                         [&](Metadata& data) { EXPECT_EQ(std::erase_if(data, is_newer), 7u); }),
            "nothing was thrown");
  const auto refused = [&](const std::string& key, const char* value) {
    return load_altered(keep, [&](Metadata& data) {
      value == nullptr ? void(data.erase("dynet_like." + key))
                       : void(data["dynet_like." + key] = value);
    });
  };
  for (const char* key :
       {"moving_average_beta", "moving_average_update_freq", "moving_average_count/W"}) {
    EXPECT_TRUE(mentions(refused(key, nullptr), "got none")) << key;
    EXPECT_TRUE(mentions(refused(key, "1x"), "got \"1x\"")) << key;
  }
  EXPECT_TRUE(mentions(refused("moving_average", "all"), "cumulative or exponential"));
  EXPECT_TRUE(mentions(refused("moving_average", nullptr), "none without averaging"));
  EXPECT_TRUE(mentions(refused("moving_average", "exponential"), "0 < beta < 1"));
  EXPECT_TRUE(mentions(refused("moving_average_update_freq", "0"), "above 0"));
  EXPECT_TRUE(mentions(refused("moving_average_count/W", "0"), "got one of 0 values"));
  EXPECT_TRUE(mentions(refused("weight_decay", "-"), "got \"-\""));
  const auto rename = [](std::string& name) {
    if (name == "trainer/average/W") name = "trainer/average/V";
  };
  EXPECT_TRUE(mentions(load_altered(rename, [](Metadata&) {}), "\"trainer/average/V\""));
}

// Parameters of two collections have the same numbers.
TEST(ParameterAveragesTest, AreOfOneCollection) {
  ParameterCollection model(1), other(2);
  ParameterCollection part = model.add_subcollection("part");
  const Parameter a = model.add_parameters({1}), b = part.add_parameters({1}),
                  c = other.add_parameters({1});
  ParameterAverages averages;
  averages.settings.kind = MovingAverage::Cumulative;
  averages.prepare(std::vector{a.p, b.p});
  EXPECT_EQ(averages.all().size(), 2u);
  const std::string expected =
      "[Trainer] need parameters of one collection for moving averages; got some of two";
  EXPECT_EQ(message_of<UsageError>([&] { averages.prepare(std::vector{c.p}); }), expected);
  EXPECT_EQ(message_of<UsageError>([&] {
              ParameterAverages().prepare(std::vector{a.p, c.p});
            }),
            expected);
  EXPECT_EQ(averages.all().size(), 2u);
}

}  // namespace
}  // namespace dynet_like
