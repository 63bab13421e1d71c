// Allocations of a save or a load fail: the file or the model stays as it was.
#include "tests/failing/failing_allocations.h"

#include "tests/support/folder_test.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using failing::fail_allocations;
using failing::Outcome;

// A model in training, with all that a checkpoint may hold.
struct SavedTraining {
  explicit SavedTraining(std::uint64_t seed = 1) : model(seed), random(seed) {
    trainer.sparse_updates = SparseUpdates::exact;
    trainer.exponential_moving_average(0.9f);
  }

  void train(int steps) {
    for (int step = 0; step < steps; ++step) {
      ComputationGraph graph;
      const Expression x = lookup(graph, table, random.below(5));
      trainer.update(graph.backward(sum_elems(square(parameter(graph, w) * x))));
    }
  }

  std::vector<std::byte> bytes() {
    std::vector<std::byte> all;
    const auto add = [&](const Tensor& values) {
      const auto* begin = static_cast<const std::byte*>(values.data());
      all.insert(all.end(), begin, begin + values.d.size() * size_of(values.dtype()));
    };
    const TrainerState state = trainer.state();
    for (const auto& storage : model.storages()) add(storage->tensor());
    for (const TrainerState::Moment& moment : state.moments) add(moment.values);
    for (const TrainerState::Average& average : state.averages) add(average.values);
    all.push_back(static_cast<std::byte>(state.updates));
    all.push_back(static_cast<std::byte>(random.position()));
    return all;
  }

  ParameterCollection model;
  Parameter w = model.add_parameters({3, 4}, "weights_with_a_long_enough_name");
  LookupParameter table = model.add_lookup_parameters(5, {4});
  Random random;
  AdamTrainer trainer{model, 0.1f};
};

class FailingFiles : public FolderTest {
 protected:
  FailingFiles() { trained.train(3); }

  // The file is the old one or the new one, and no other is left.
  template <class Save>
  void expect_whole_files(const Save& save) {
    save(trained);
    const std::string after = contents();
    SavedTraining other(2);
    save(other);
    const std::string before = contents();
    const std::size_t allocations =
        fail_allocations([] { return std::make_unique<int>(); }, [&](int&) { save(trained); },
                         [&](int&, const Outcome& outcome) {
                           EXPECT_EQ(files(), 1);
                           EXPECT_TRUE(contents() == (outcome.threw ? before : after));
                           write(before);
                         });
    EXPECT_GT(allocations, 10u);
  }

  // The model is as it was or as the file has it, and can go on either way.
  template <class Save, class Load>
  void expect_whole_models(const Save& save, const Load& load) {
    save(trained);
    const auto make_world = [] {
      auto training = std::make_unique<SavedTraining>(2);
      training->train(2);
      return training;
    };
    const std::vector<std::byte> before = make_world()->bytes();
    const auto loaded = make_world();
    load(*loaded);
    const std::vector<std::byte> after = loaded->bytes();
    const std::size_t allocations =
        fail_allocations(make_world, load, [&](SavedTraining& training, const Outcome& outcome) {
          EXPECT_EQ(training.bytes(), outcome.threw ? before : after);
          load(training);
          EXPECT_EQ(training.bytes(), after);
        });
    EXPECT_GT(allocations, 10u);
  }

  SavedTraining trained;
};

const Metadata kMetadata = {{"epoch", "3"}, {"a key of some length", "and a value of some length"}};

TEST_F(FailingFiles, OfParameters) {
  const auto save = [&](SavedTraining& training) {
    save_parameters(path(), training.model, kMetadata);
  };
  expect_whole_files(save);
  expect_whole_models(save,
                      [&](SavedTraining& training) { load_parameters(path(), training.model); });
}

TEST_F(FailingFiles, OfArrays) {
  const auto save = [&](SavedTraining& training) { save_npz(path(), training.model); };
  expect_whole_files(save);
  expect_whole_models(save, [&](SavedTraining& training) { load_npz(path(), training.model); });
}

TEST_F(FailingFiles, OfCheckpoints) {
  const auto save = [&](SavedTraining& training) {
    save_checkpoint(path(), training.model, training.trainer, training.random, kMetadata);
  };
  expect_whole_files(save);
  expect_whole_models(save, [&](SavedTraining& training) {
    load_checkpoint(path(), training.model, training.trainer, training.random);
  });
}

TEST_F(FailingFiles, OfTextModels) {
  const auto save = [&](SavedTraining& training) { save_text_model(path(), training.model); };
  expect_whole_files(save);
  expect_whole_models(save, [&](SavedTraining& training) {
    Gradients gradients;
    load_text_model(path(), training.model, {}, &gradients);
  });
}

}  // namespace
}  // namespace dynet_like
