// Random sequences of updates: settings that change between them, rows that are read or written in
// between, states that move on to another trainer, and clipping of whatever is updated.
#include "dynet_like/core/random.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

class RandomUpdatesTest : public ::testing::TestWithParam<Kind> {
 protected:
  // A trainer of a table beside one of a parameter for each of its rows.
  struct Pair {
    Pair(const Kind& kind, DType dtype)
        : twins(dtype), trainer(kind.make(twins.model)), reference(kind.make(twins.dense_model)) {}

    template <class Change>
    void both(const Change& change) {
      change(*trainer);
      change(*reference);
    }

    Twins twins;
    std::unique_ptr<Trainer> trainer, reference;
  };

  // What may happen between two updates.
  static void change_something(const Kind& kind, Pair& pair, Random& random) {
    const unsigned row = random.below(Twins::kRows);
    switch (random.below(10)) {
      case 0:
        return pair.both([mode = random.below(2)](Trainer& trainer) {
          trainer.sparse_updates = mode == 0 ? SparseUpdates::lazy : SparseUpdates::exact;
        });
      case 1:
        return pair.both([decay = random.below(2)](Trainer& trainer) {
          trainer.weight_decay = decay == 0 ? 0 : 0.003f;
        });
      case 2:
        return pair.both([rate = random.uniform()](Trainer& trainer) {
          trainer.learning_rate = 0.02f * static_cast<float>(rate);
        });
      case 3:
        for (unsigned i = 0; i < Twins::kSize; ++i) {
          ASSERT_EQ(pair.twins.table.values(row).at(i), pair.twins.dense[row].values().at(i));
        }
        return;
      case 4:
        pair.twins.table.scale(0.75f);
        for (const Parameter& parameter : pair.twins.dense) parameter.scale(0.75f);
        return;
      case 5: {
        const std::vector<float> values(Twins::kSize, 0.5f);
        pair.twins.table.initialize(row, values);
        return pair.twins.dense[row].set_value(values);
      }
      case 6:
        return pair.twins.set_updated(random.below(3) > 0);
      case 7:
        if (random.below(4) > 0) return;
        return pair.both([](Trainer& trainer) { trainer.forget_moments(); });
      case 8: {  // one takes over the state of a new trainer, the other one is new
        std::unique_ptr<Trainer> fresh = kind.make(pair.twins.model);
        pair.trainer->load_state(fresh->state());
        pair.reference = kind.make(pair.twins.dense_model);
        return;
      }
      default:
        const auto move_on = [&](std::unique_ptr<Trainer>& trainer, const auto& model) {
          std::unique_ptr<Trainer> next = kind.make(model);
          next->load_state(trainer->state());
          trainer = std::move(next);
        };
        move_on(pair.trainer, pair.twins.model);
        move_on(pair.reference, pair.twins.dense_model);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, RandomUpdatesTest, ::testing::ValuesIn(kinds()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RandomUpdatesTest, TablesEqualDenseParameters) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Pair pair(GetParam(), seed % 2 == 0 ? DType::f32 : DType::f64);
    for (int step = 0; step < 120; ++step) {
      ASSERT_NO_FATAL_FAILURE(change_something(GetParam(), pair, random)) << "step " << step;
      Gradients gradients;
      for (unsigned i = random.below(3); i > 0; --i) {
        pair.twins.add(gradients, random.below(Twins::kRows), random_values(random, Twins::kSize));
      }
      const bool is_exact = pair.trainer->sparse_updates == SparseUpdates::exact;
      if (is_exact && random.below(2) == 0) pair.twins.add_zeros(gradients);  // as if it had none
      const Gradients& all = gradients;
      const Gradients none;
      pair.trainer->update(all.has_any_of(pair.twins.model) ? all : none);
      pair.twins.update_dense(*pair.reference, gradients, GetParam().make);
      if (step % 20 == 19) {
        ASSERT_TRUE(pair.twins.same()) << "step " << step;
      }
    }
  }
}

TEST_P(RandomUpdatesTest, RowsMayLieForLong) {
  for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
    Pair pair(GetParam(), DType::f32);
    pair.both([&](Trainer& trainer) {
      trainer.sparse_updates = mode;
      trainer.weight_decay = mode == SparseUpdates::lazy ? 1e-4f : 0;
    });
    Random random(5);
    for (int step = 0; step < 9000; ++step) {
      Gradients gradients;
      if (step % 4500 == 0) {
        pair.twins.add(gradients, 1, random_values(random, Twins::kSize));
      }
      pair.trainer->update(gradients);
      pair.twins.update_dense(*pair.reference, gradients, GetParam().make);
    }
    EXPECT_TRUE(pair.twins.same());
  }
}

// Trainers may choose another norm, such as that of all gradients.
struct Descent : SimpleSGDTrainer {
  Descent(const ParameterCollection& model, bool clips_by_all)
      : SimpleSGDTrainer(model, 1.0f), model(model), clips_by_all(clips_by_all) {}

  std::optional<double> norm_for_clipping(
      const Gradients& gradients,
      std::span<const std::shared_ptr<ParameterStorage>>) const override {
    if (!clips_by_all) return {};
    return gradients.norm(model, true);
  }

  const ParameterCollection model;
  const bool clips_by_all;
};

// Parameters, tables and a frozen group, some of which have no gradient; descent tells the factor.
TEST(RandomClippingTest, TheNormIsOfWhatIsUpdatedOrOfAll) {
  Random random(6);
  int clipped = 0, differ = 0;
  for (int round = 0; round < 200; ++round) {
    ParameterCollection model(1, DType::f64);
    Descent trainer(model, random.below(2) == 0);
    Gradients gradients;
    double updated_squares = 0, all_squares = 0;
    std::vector<Parameter> parameters;
    for (unsigned i = 0; i < 5; ++i) {
      const bool is_frozen = random.below(4) == 0, is_updated = random.below(4) > 0;
      const std::string name = (is_frozen ? "frozen_" : "free_") + std::to_string(i);
      const unsigned size = 1 + random.below(40);
      const bool has_gradient = random.below(5) > 0;
      const Doubles gradient = random_values(random, size);
      if (i < 3) {
        parameters.push_back(model.add_parameters({size}, ParameterInitConst(0), name));
        parameters.back().set_updated(is_updated);
        if (has_gradient) add_to(gradients, parameters.back(), gradient);
      } else {
        const LookupParameter table = model.add_lookup_parameters(7, {size}, name);
        table.set_updated(is_updated);
        if (has_gradient) add_to(gradients, table, random.below(7), gradient);
      }
      for (const double x : gradient) {
        if (has_gradient) all_squares += x * x;
        if (has_gradient && is_updated && !is_frozen) updated_squares += x * x;
      }
    }
    if (std::ranges::any_of(model.storages(),
                            [](const auto& p) { return p->name.starts_with("/frozen"); })) {
      trainer.set_groups({{.pattern = "/frozen*", .frozen = true}});
    }
    const double norm = std::sqrt(trainer.clips_by_all ? all_squares : updated_squares);
    const auto threshold = static_cast<float>(0.5 + 20 * random.uniform());
    trainer.enable_clipping(threshold);
    const double factor = std::min(1.0, static_cast<double>(threshold) / norm);
    clipped += factor < 1;
    differ += updated_squares < all_squares;
    trainer.update(gradients);
    EXPECT_EQ(trainer.clipped_updates(), factor < 1 ? 1u : 0u);
    for (const Parameter& parameter : parameters) {
      const ParameterStorage& storage = parameter.get_storage();
      const bool moves = storage.updated && storage.name.starts_with("/free");
      const std::vector<float> gradient = gradients.values(parameter);
      for (unsigned i = 0; i < gradient.size(); ++i) {
        const double expected = moves ? -factor * static_cast<double>(gradient[i]) : 0;
        EXPECT_NEAR(parameter.values().at(i), expected, 1e-6) << "round " << round;
      }
    }
  }
  EXPECT_GT(clipped, 40);
  EXPECT_LT(clipped, 160);
  EXPECT_GT(differ, 100);
}

}  // namespace
}  // namespace dynet_like
