// Every allocation of a trainer or a collection fails once: no parameter has changed, and the same
// objects go on as if nothing had happened.
#include "tests/failing/failing_allocations.h"

#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using failing::fail_allocations;
using failing::Outcome;
using trainer_kinds::add_to;
using trainer_kinds::Bytes;
using trainer_kinds::Kind;

struct Training {
  ParameterCollection model;
  Parameter w = model.add_parameters({3, 2}), idle = model.add_parameters({4});
  LookupParameter table = model.add_lookup_parameters(5, {3});
  Gradients first, second;
  std::unique_ptr<Trainer> trainer;

  explicit Training(const Kind& kind) : trainer(kind.make(model)) {
    add_to(first, w, {1, -2, 3, 0.5, 0, 1});
    add_to(first, table, 1, {1, 2, 3});
    add_to(second, w, {1, 1, 1, -3, 2, 1});
    add_to(second, table, 4, {1, 0, -3});
    add_to(second, table, 1, {0.5, 0, -1});
  }
};

// What may be switched on beside the rule.
struct Extra {
  const char* name;
  std::function<void(Trainer&)> apply;
};

std::vector<Extra> extras() {
  return {{"none", [](Trainer&) {}},
          {"exact", [](Trainer& trainer) { trainer.sparse_updates = SparseUpdates::exact; }},
          {"clipping, decay and an average",
           [](Trainer& trainer) {
             trainer.enable_clipping(0.5f);
             trainer.weight_decay = 0.1f;
             trainer.cumulative_moving_average();
           }},
          {"groups", [](Trainer& trainer) {
             trainer.set_groups({{.pattern = "*", .rate = 0.5f, .weight_decay = 0.1f},
                                 {.pattern = "/_1", .frozen = true}});
           }}};
}

class FailingUpdates : public ::testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Training> make(const Extra& extra) const {
    auto training = std::make_unique<Training>(GetParam());
    extra.apply(*training->trainer);
    return training;
  }
};

TEST_P(FailingUpdates, ChangeNothing) {
  for (const Extra& extra : extras()) {
    SCOPED_TRACE(extra.name);
    const auto untouched = make(extra);
    std::vector<Bytes> bytes = {bytes_of(untouched->model)};
    for (const Gradients* gradients : {&untouched->first, &untouched->second}) {
      untouched->trainer->update(*gradients);
      bytes.push_back(bytes_of(untouched->model));
    }
    for (const unsigned update : {1u, 2u}) {
      const auto make_world = [&] {
        auto training = make(extra);
        if (update == 2) training->trainer->update(training->first);
        return training;
      };
      const auto run = [&](Training& training) {
        training.trainer->update(update == 1 ? training.first : training.second);
      };
      const auto check = [&](Training& training, const Outcome& outcome) {
        EXPECT_EQ(training.trainer->updates(), update - outcome.threw);
        EXPECT_EQ(bytes_of(training.model), bytes[update - outcome.threw]);
        if (outcome.threw) run(training);
        if (update == 1) training.trainer->update(training.second);
        EXPECT_EQ(bytes_of(training.model), bytes[2]);
      };
      fail_allocations(make_world, run, check);
    }
  }
}

// Averages in the place of parameters and back, a fresh start, and another trainer's state.
TEST_P(FailingUpdates, LeaveStatesWhole) {
  const Extra extra = extras()[2];
  const auto make_world = [&] {
    auto training = make(extra);
    training->trainer->update(training->first);
    return training;
  };
  const auto untouched = make_world();
  const Bytes trained = bytes_of(untouched->model);
  untouched->trainer->update(untouched->second);
  const Bytes expected = bytes_of(untouched->model);
  const auto train_on = [&](Training& training) {
    EXPECT_EQ(bytes_of(training.model), trained);
    training.trainer->update(training.second);
    EXPECT_EQ(bytes_of(training.model), expected);
  };
  fail_allocations(
      make_world, [](Training& training) { training.trainer->swap_params_to_moving_average(); },
      [&](Training& training, const Outcome& outcome) {
        if (!outcome.threw) training.trainer->swap_params_to_weights();
        train_on(training);
      });
  fail_allocations(
      make_world,
      [](Training& training) { training.trainer->load_state(training.trainer->state()); },
      [&](Training& training, const Outcome&) { train_on(training); });
  fail_allocations(
      make_world, [](Training& training) { training.trainer->restart(); },
      [&](Training& training, const Outcome& outcome) {
        EXPECT_FALSE(outcome.threw);
        EXPECT_EQ(bytes_of(training.model), trained);
      });
}

// Averages whose bias is corrected, and the way back: parameters are all swapped or none.
TEST_P(FailingUpdates, SwapAllOrNothing) {
  const auto make_world = [&] {
    auto training = std::make_unique<Training>(GetParam());
    training->trainer->exponential_moving_average(0.5f);
    training->trainer->update(training->first);
    training->trainer->update(training->second);
    return training;
  };
  const auto untouched = make_world();
  const Bytes weights = bytes_of(untouched->model);
  untouched->trainer->swap_params_to_moving_average(true, true);
  const Bytes averages = bytes_of(untouched->model);
  ASSERT_NE(averages, weights);
  fail_allocations(
      make_world,
      [](Training& training) { training.trainer->swap_params_to_moving_average(true, true); },
      [&](Training& training, const Outcome& outcome) {
        EXPECT_EQ(bytes_of(training.model), outcome.threw ? weights : averages);
        if (outcome.threw) training.trainer->swap_params_to_moving_average(true, true);
        EXPECT_EQ(bytes_of(training.model), averages);
      });
  const auto make_swapped = [&] {
    auto training = make_world();
    training->trainer->swap_params_to_moving_average(true, true);
    return training;
  };
  fail_allocations(
      make_swapped, [](Training& training) { training.trainer->swap_params_to_weights(); },
      [&](Training& training, const Outcome& outcome) {
        EXPECT_EQ(bytes_of(training.model), outcome.threw ? averages : weights);
        if (outcome.threw) training.trainer->swap_params_to_weights();
        EXPECT_EQ(bytes_of(training.model), weights);
      });
}

INSTANTIATE_TEST_SUITE_P(AllTrainers, FailingUpdates, ::testing::ValuesIn(trainer_kinds::kinds()));

// A parameter that could not be made leaves its name and its place.
struct Growing {
  ParameterCollection model, inner;

  void add(unsigned step) {
    const std::string name = "a name that needs memory of its own";
    if (step == 0) model.add_parameters({3, 2}, name);
    if (step == 1) model.add_lookup_parameters(4, {2}, name);
    if (step == 2) inner = model.add_subcollection("inner");
    if (step == 3) inner.add_parameters({5});
    if (step == 4) model.add_parameters({2, 2}, ParameterInitSaxe());
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& storage : model.storages()) names.push_back(storage->name);
    return names;
  }
  // Gradients of all, accumulated in an object that knows the collection from before.
  void differentiate(Gradients& gradients) const {
    ComputationGraph graph;
    Expression loss = input(graph, 0.0f);
    for (const auto& storage : model.storages()) {
      const Expression x = storage->is_table ? parameter(graph, LookupParameter(storage))
                                             : parameter(graph, Parameter(storage));
      loss = loss + sum_elems(square(x));
    }
    graph.backward(loss, gradients);
  }
};

TEST(FailingCollections, AddTheSameAgain) {
  constexpr unsigned kSteps = 5;
  Growing untouched;
  for (unsigned step = 0; step < kSteps; ++step) untouched.add(step);
  Gradients expected;
  untouched.differentiate(expected);
  for (unsigned failing_step = 0; failing_step < kSteps; ++failing_step) {
    SCOPED_TRACE(failing_step);
    const auto make_world = [&] {
      auto growing = std::make_unique<Growing>();
      for (unsigned step = 0; step < failing_step; ++step) growing->add(step);
      return growing;
    };
    const std::size_t allocations = fail_allocations(
        make_world, [&](Growing& growing) { growing.add(failing_step); },
        [&](Growing& growing, const Outcome& outcome) {
          Gradients gradients;
          growing.differentiate(gradients);
          gradients.clear();
          if (outcome.threw) growing.add(failing_step);
          for (unsigned step = failing_step + 1; step < kSteps; ++step) growing.add(step);
          EXPECT_EQ(growing.names(), untouched.names());
          EXPECT_EQ(bytes_of(growing.model), bytes_of(untouched.model));
          growing.differentiate(gradients);
          for (std::size_t i = 0; i < growing.names().size(); ++i) {
            const auto ours = growing.model.storages()[i], theirs = untouched.model.storages()[i];
            if (ours->is_table) {
              EXPECT_EQ(gradients.values(LookupParameter(ours), 1),
                        expected.values(LookupParameter(theirs), 1));
            } else {
              EXPECT_EQ(gradients.values(Parameter(ours)), expected.values(Parameter(theirs)));
            }
          }
        });
    EXPECT_GT(allocations, 0u);
  }
}

TEST(FailingCollections, KeepTheNameForTheNextOne) {
  ParameterCollection model;
  EXPECT_THROW(model.add_parameters({2, 3}, ParameterInitIdentity(), "W"), ShapeError);
  EXPECT_EQ(model.add_parameters({2, 3}, "W").get_fullname(), "/W");
}

// Gradients that are merged: what failed half way is cleared, and merged again.
TEST(FailingGradients, AreGoodOnceTheyAreCleared) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({3});
  const LookupParameter table = model.add_lookup_parameters(4, {2});
  Gradients more;
  add_to(more, w, {1, 2, 3});
  for (const unsigned row : {3u, 0u, 2u}) add_to(more, table, row, {1.0 + row, 2});
  fail_allocations([] { return std::make_unique<Gradients>(); },
                   [&](Gradients& sum) { sum.add(more); },
                   [&](Gradients& sum, const Outcome&) {
                     sum.clear();
                     sum.add(more);
                     EXPECT_EQ(sum.values(w), more.values(w));
                     for (unsigned row = 0; row < 4; ++row) {
                       EXPECT_EQ(sum.values(table, row), more.values(table, row));
                     }
                   });
}

}  // namespace
}  // namespace dynet_like
