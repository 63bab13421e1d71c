// Recursions on a device where levels share launches, and on one where they cannot: the same bits.
#include <cstring>

#include "dynet_like/device/cuda/host/faults.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

namespace host = detail::cuda::host;

using Loss = std::function<Expression(ComputationGraph&, unsigned sample)>;
using MakeLoss = std::function<Loss(ParameterCollection&)>;

constexpr unsigned kInputs = 9, kHidden = 13;

// What a model computes, and by how many launches forward and backward.
struct Training {
  std::vector<float> losses;
  std::vector<std::vector<float>> values;
  std::uint64_t forward = 0, backward = 0, meetings = 0;
};

Training train(const MakeLoss& make, unsigned samples, bool blocks_meet) {
  host::let_blocks_meet(blocks_meet);
  GraphOptions options;
  options.device = open_device("cuda-host:1");
  host::let_blocks_meet(true);
  ParameterCollection model(1, DType::f32, options.device);
  const Loss loss = make(model);
  SimpleSGDTrainer trainer(model, 0.1f);
  Minibatch batch(options);
  Training training;
  for (int step = 0; step < 3; ++step) {
    batch.clear();
    for (unsigned s = 0; s < samples; ++s) batch.add_loss(loss(batch.new_graph(), s));
    const std::uint64_t before = options.device->counts().launches;
    training.losses.push_back(static_cast<float>(batch.forward()));
    const std::uint64_t between = options.device->counts().launches;
    const Gradients& gradients = batch.backward();
    options.device->make_queue()->submit();
    training.forward += between - before;
    training.backward += options.device->counts().launches - between;
    trainer.update(gradients);
  }
  training.meetings = options.device->counts().meetings;
  for (const auto& storage : model.storages()) {
    storage->refresh_rows();
    const auto tensor = storage->tensor();
    std::vector<float>& values = training.values.emplace_back();
    for (std::size_t i = 0; i < tensor.d.size(); ++i) {
      values.push_back(static_cast<float>(tensor.at(i)));
    }
  }
  return training;
}

class RecursionStepsTest : public ::testing::Test {
 protected:
  RecursionStepsTest() { host::set_device_count(2); }
  ~RecursionStepsTest() override { host::set_device_count(1); }

  // Without steps there are more than twice as many launches; more, if levels are so wide that they
  // are launches of their own.
  static void check(const MakeLoss& make, unsigned samples = 5) {
    const Training alone = train(make, samples, false);
    EXPECT_EQ(alone.meetings, 0u);
    const Training together = train(make, samples, true);
    EXPECT_EQ(together.losses, alone.losses);
    EXPECT_EQ(together.values, alone.values);
    const std::uint64_t times = samples > 5 ? 1 : 2;
    EXPECT_LT(times * together.forward, alone.forward);
    EXPECT_LT(times * together.backward, alone.backward);
    EXPECT_EQ(together.meetings,
              alone.forward + alone.backward - together.forward - together.backward);
  }

  // A column for each of `count` words of a sample.
  static Expression columns(ComputationGraph& graph, unsigned sample, unsigned count) {
    std::vector<float> numbers(std::size_t{kInputs} * count);
    Random random(sample);
    for (float& number : numbers) number = static_cast<float>(random.normal());
    return input(graph, {kInputs, count}, numbers);
  }
};

// A chain to the left: as many levels as words.
nn::Tree tree_of(unsigned words) {
  nn::Tree tree;
  tree.add_leaf(0, "a");
  for (unsigned w = 1; w < words; ++w) {
    tree.add_leaf(0, "a");
    tree.add_parent(0, 2);
  }
  return tree;
}

TEST_F(RecursionStepsTest, Trees) {
  check([](ParameterCollection& model) -> Loss {
    return
        [cell = nn::TreeLSTM(model, kInputs, kHidden)](ComputationGraph& graph, unsigned sample) {
          const unsigned words = 20 + sample;
          return squared_norm(cell(tree_of(words), columns(graph, sample, words)).last().h);
        };
  });
}

// So many columns that tiles are not the smallest.
TEST_F(RecursionStepsTest, ManyTrees) {
  check(
      [](ParameterCollection& model) -> Loss {
        return [cell = nn::TreeLSTM(model, kInputs, 96)](ComputationGraph& graph, unsigned sample) {
          return squared_norm(cell(tree_of(6), columns(graph, sample, 6)).last().h);
        };
      },
      80);
}

TEST_F(RecursionStepsTest, Sequences) {
  check([](ParameterCollection& model) -> Loss {
    return [cell = nn::LSTM(model, kInputs, kHidden)](ComputationGraph& graph, unsigned sample) {
      return squared_norm(cell(columns(graph, sample, 20 + sample)).all().h);
    };
  });
  check([](ParameterCollection& model) -> Loss {
    return [cell = nn::GRU(model, kInputs, kHidden)](ComputationGraph& graph, unsigned sample) {
      return squared_norm(cell(columns(graph, sample, 20 + sample)).all());
    };
  });
}

}  // namespace
}  // namespace dynet_like
