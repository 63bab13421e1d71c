// Trainers on a GPU, or on the CPU in its place: the bits of the CPU, few launches,
// checkpoints that move between devices, and memory of this process that takes part.
#include <unistd.h>
#include <cstddef>

#include "dynet_like/io/checkpoint.h"
#include "tests/support/cuda_device.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using trainer_kinds::Kind;
using trainer_kinds::kinds;
using trainer_kinds::random_values;

std::shared_ptr<Device> cuda() { return open_device(kCudaDevice); }

/// A model of dense parameters and tables with gradients by hand: the same numbers on all devices.
struct Training {
  ParameterCollection model;
  Parameter w = model.add_parameters({37, 3}, "w"), bias = model.add_parameters({5}, "b"),
            large = model.add_parameters({1500}, "large"), fixed = model.add_parameters({4}, "f");
  LookupParameter words = model.add_lookup_parameters(9, {7}, "words"),
                  matrices = model.add_lookup_parameters(4, {3, 2}, "matrices");
  std::unique_ptr<Trainer> trainer;
  Random random{5};

  Training(const Kind& kind, DType dtype, const std::shared_ptr<Device>& device,
           std::uint64_t seed = 3)
      : model(seed, dtype, device) {
    fixed.set_updated(false);
    trainer = kind.make(model);
    trainer->learning_rate = 0.05f;
  }

  Gradients gradients(unsigned step) {
    Gradients result;
    for (const Parameter& parameter : {w, large, fixed}) {
      add_to(result, parameter, random_values(random, parameter.dim().size()));
    }
    if (step % 2 == 0) add_to(result, bias, random_values(random, 5));  // else it has none
    for (unsigned i = 0; i < 3; ++i) {
      add_to(result, words, random.below(9), random_values(random, 7));
    }
    if (step % 3 != 0) add_to(result, matrices, random.below(4), random_values(random, 6));
    return result;
  }
  void step(unsigned step) { trainer->update(gradients(step)); }
};

void expect_same(const Tensor& ours, const Tensor& theirs, bool same_bits,
                 const std::string& what) {
  ASSERT_EQ(ours.d, theirs.d);
  const double tolerance = ours.dtype() == DType::f64 ? 1e-12 : 2e-5;
  for (std::size_t i = 0; i < ours.d.size(); ++i) {
    const double bound = same_bits ? 0 : tolerance * std::max(1.0, std::abs(ours.at(i)));
    ASSERT_LE(std::abs(ours.at(i) - theirs.at(i)), bound) << what << ' ' << i;
  }
}

// Values, moments and averages.
void expect_same(Training& ours, Training& theirs, bool same_bits) {
  const auto mine = ours.model.storages(), others = theirs.model.storages();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i]->refresh_rows();
    expect_same(mine[i]->tensor(), others[i]->tensor(), same_bits, mine[i]->name);
  }
  const TrainerState state = ours.trainer->state(), other = theirs.trainer->state();
  ASSERT_EQ(state.moments.size(), other.moments.size());
  for (std::size_t i = 0; i < state.moments.size(); ++i) {
    const TrainerState::Moment& moment = state.moments[i];
    expect_same(moment.values, other.moments[i].values, same_bits,
                moment.name + " of " + moment.parameter->name);
  }
  ASSERT_EQ(state.averages.size(), other.averages.size());
  for (std::size_t i = 0; i < state.averages.size(); ++i) {
    expect_same(state.averages[i].values, other.averages[i].values, same_bits, "average");
    EXPECT_EQ(state.averages[i].count, other.averages[i].count);
  }
}

// What may be switched on beside the rule. A clipped gradient is multiplied by a number that
// depends on the order of a sum.
struct Extra {
  const char* name;
  bool same_bits;
  void (*apply)(Trainer&);
};

const std::vector<Extra> kExtras = {
    {"none", true, [](Trainer&) {}},
    {"decay", true, [](Trainer& trainer) { trainer.weight_decay = 0.01f; }},
    {"average", true, [](Trainer& trainer) { trainer.cumulative_moving_average(2); }},
    {"exponential average", true,
     [](Trainer& trainer) { trainer.exponential_moving_average(0.9f); }},
    {"clipping", false, [](Trainer& trainer) { trainer.enable_clipping(3.0f); }}};

class CudaTraining : public ::testing::TestWithParam<Kind> {};

TEST_P(CudaTraining, HasTheBitsOfTheCpu) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
      for (const Extra& extra : kExtras) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + extra.name + " " +
                     std::to_string(static_cast<int>(mode)));
        Training here(GetParam(), dtype, cpu_device()), there(GetParam(), dtype, cuda());
        for (Training* training : {&here, &there}) {
          training->trainer->sparse_updates = mode;
          extra.apply(*training->trainer);
        }
        for (unsigned step = 0; step < 6; ++step) {
          if (step == 4) here.trainer->restart(), there.trainer->restart();
          here.step(step);
          there.step(step);
        }
        expect_same(here, there, extra.same_bits);
        EXPECT_EQ(here.trainer->clipped_updates(), there.trainer->clipped_updates());
        if (here.trainer->moving_average() == MovingAverage::None) continue;
        here.trainer->swap_params_to_moving_average(true, true);
        there.trainer->swap_params_to_moving_average(true, true);
        expect_same(here.w.get_storage().tensor(), there.w.get_storage().tensor(), true,
                    "swapped in");
        here.trainer->swap_params_to_weights();
        there.trainer->swap_params_to_weights();
        expect_same(here, there, true);
      }
    }
  }
}

TEST_P(CudaTraining, TakesFewLaunches) {
  Training training(GetParam(), DType::f32, cuda());
  training.trainer->weight_decay = 0.01f;
  training.trainer->sparse_updates = SparseUpdates::exact;
  training.trainer->cumulative_moving_average();
  training.step(1);
  const Gradients gradients = training.gradients(2);
  float ignored = 0;  // all that was asked for has been launched
  cuda()->read(&ignored, training.w.get_storage().values.data(), sizeof ignored);
  const DeviceCounts before = cuda()->counts();
  training.trainer->update(gradients);
  cuda()->read(&ignored, training.w.get_storage().values.data(), sizeof ignored);
  const DeviceCounts after = cuda()->counts();
  EXPECT_LE(after.launches - before.launches, 4u);                  // check twice, update, average
  EXPECT_EQ(after.synchronisations - before.synchronisations, 1u);  // this test's own
}

TEST_P(CudaTraining, GoesOnFromACheckpointOfAnotherDevice) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("cuda_training_" + std::to_string(getpid()) + ".safetensors");
  Training whole(GetParam(), DType::f32, cpu_device());
  Training first(GetParam(), DType::f32, cpu_device());
  Training second(GetParam(), DType::f32, cuda(), 7),
      third(GetParam(), DType::f32, cpu_device(), 8);
  Training* const runs[] = {&first, &second, &third};
  for (Training* run : {&whole, &first, &second, &third}) {
    run->trainer->sparse_updates = SparseUpdates::exact;
    run->trainer->exponential_moving_average(0.5f);
  }
  for (unsigned run = 0; run < 3; ++run) {
    Training& training = *runs[run];
    if (run > 0) load_checkpoint(path, training.model, *training.trainer, training.random);
    for (unsigned step = 0; step < 3; ++step) {
      training.step(3 * run + step);
      whole.step(3 * run + step);
    }
    expect_same(whole, training, true);
    save_checkpoint(path, training.model, *training.trainer, training.random);
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(AllTrainers, CudaTraining, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

// Trains on eight minibatches, and reads their losses before backward or after it. Bounds what each
// asks of a device.
std::vector<float> losses_in_training(const std::shared_ptr<Device>& device) {
  ParameterCollection model(1, DType::f32, device);
  const Parameter w = model.add_parameters({8, 8});
  const LookupParameter words = model.add_lookup_parameters(5, {8});
  AdamTrainer trainer(model, 0.01f);
  trainer.enable_clipping(0.1f);
  GraphOptions options;
  options.device = device;
  Minibatch batch(options);
  std::vector<float> losses;
  for (unsigned step = 0; step < 8; ++step, batch.clear()) {
    const DeviceCounts before = device->counts();
    for (unsigned sample = 0; sample < 3; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      Expression h = lookup(graph, words, sample);
      for (unsigned i = 0; i < 20 + sample; ++i) h = tanh(parameter(graph, w) * h);
      batch.add_loss(sum_elems(square(h)));
    }
    batch.start();
    if (step % 2 == 0) losses.push_back(batch.loss());
    const Gradients& gradients = batch.backward();
    if (step % 2 == 1) losses.push_back(batch.loss());
    trainer.update(gradients);
    const DeviceCounts after = device->counts();
    EXPECT_LE(after.synchronisations - before.synchronisations, 1u) << step;
    EXPECT_LE(after.copies_to_host - before.copies_to_host, 2u) << step;
    if (step > 3 && kEmulated) {  // how many lists are under way depends on a GPU's speed
      EXPECT_EQ(after.allocations, before.allocations) << step;
    }
    EXPECT_EQ(trainer.updates(), step + 1);
  }
  EXPECT_EQ(trainer.clipped_updates(), 8u);
  return losses;
}

// Forward, backward and update of a minibatch wait for the losses alone.
TEST(CudaTrainingLoop, AMinibatchWaitsOnce) {
  const std::vector<float> expected = losses_in_training(cpu_device());
  const std::vector<float> losses = losses_in_training(cuda());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << i;
}

// Products of the library within a pass: the numbers of the project's own, but for rounding.
TEST(CudaGradients, MayBeProductsOfTheLibrary) {
  if (!has_cublas()) GTEST_SKIP() << "there is no cuBLAS";
  const auto gradients_with = [](bool library) {
    cuda()->set_large_products(library ? LargeProducts::library : LargeProducts::exact);
    ParameterCollection model(1, DType::f32, cuda());
    const Parameter w = model.add_parameters({256, 256});
    GraphOptions options;
    options.device = cuda();
    ComputationGraph graph(options);
    std::vector<Expression> losses;
    Random random(1);
    for (unsigned column = 0; column < 300; ++column) {
      std::vector<float> x(256);
      for (float& number : x) number = static_cast<float>(random.normal());
      losses.push_back(sum_elems(square(parameter(graph, w) * input(graph, {256}, x))));
    }
    const Gradients& gradients = graph.backward(sum(losses));
    return gradients.values(w);
  };
  const std::vector<float> own = gradients_with(false), library = gradients_with(true);
  cuda()->set_large_products(LargeProducts::exact);
  float largest = 0;
  for (const float number : own) largest = std::max(largest, std::abs(number));
  for (std::size_t i = 0; i < own.size(); ++i) ASSERT_NEAR(own[i], library[i], 1e-5f * largest);
}

// What a program writes into values() reaches the next run and the next update, and it sees what
// the device has changed.
TEST(CudaParameters, ValuesOfThisProcessTakePart) {
  ParameterCollection model(1, DType::f32, cuda());
  const Parameter w = model.add_parameters({2}, ParameterInitConst(1));
  const LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(1));
  const Tensor values = w.values(), row = table.values(1), all = table.all_values();
  SimpleSGDTrainer trainer(model, 1.0f);
  values.set(0, 5);
  row.set(1, 7);
  GraphOptions options;
  options.device = cuda();
  ComputationGraph graph(options);
  const Expression product = dot_product(parameter(graph, w), lookup(graph, table, 1));
  EXPECT_EQ(product.value().at(0), 5 * 1 + 1 * 7);
  const Gradients& gradients = graph.backward(product);
  values.set(1, 3);  // after the run, before the update
  trainer.update(gradients);
  EXPECT_EQ(as_vector(values), (std::vector<float>{5 - 1, 3 - 7}));
  EXPECT_EQ(as_vector(row), (std::vector<float>{1 - 5, 7 - 1}));
  EXPECT_EQ(as_vector(all), (std::vector<float>{1, 1, -4, 6, 1, 1}));
  w.set_value({8, 9});
  EXPECT_EQ(as_vector(values), (std::vector<float>{8, 9}));
  w.scale(0.5f);
  std::vector<float> there(2);
  cuda()->read(there.data(), w.get_storage().values.data(), 2 * sizeof(float));
  EXPECT_EQ(there, (std::vector<float>{4, 4.5f}));
}

TEST(CudaGradients, AddUpAndAreChecked) {
  for (const auto& device : {cpu_device(), cuda()}) {
    ParameterCollection model(1, DType::f64, device);
    const Parameter w = model.add_parameters({3000});
    const LookupParameter table = model.add_lookup_parameters(4, {2});
    Gradients a, b;
    add_to(a, w, std::vector<double>(3000, 1));
    add_to(b, w, std::vector<double>(3000, 0.5));
    add_to(b, table, 3, {1, 2});
    a.add(b);
    a.add(b);
    EXPECT_EQ(a.values(w), std::vector<float>(3000, 2));
    EXPECT_EQ(a.values(table, 3), (std::vector<float>{2, 4}));
    EXPECT_EQ(a.all_values(table.get_storage()), (std::vector<float>{0, 0, 0, 0, 0, 0, 2, 4}));
    EXPECT_DOUBLE_EQ(a.norm(model), std::sqrt(4.0 * 3000 + 4 + 16));
    const std::vector<float> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
    a.set_values(table.get_storage(), numbers);
    EXPECT_EQ(a.all_values(table.get_storage()), numbers);
    std::vector<double> bad(2, 0);
    bad[1] = std::numeric_limits<double>::infinity();
    add_to(a, table, 2, bad);
    SimpleSGDTrainer trainer(model);
    const std::vector<float> before = as_vector(w.get_storage().tensor());
    EXPECT_THROW(trainer_kinds::update_now(trainer, a), NumericError);
    EXPECT_EQ(trainer.updates(), 0u);
    EXPECT_EQ(as_vector(w.get_storage().tensor()), before);
    a.clear();
    EXPECT_EQ(a.values(w), std::vector<float>(3000, 0));
  }
}

// An update waits for nothing; the next call says what became of it.
TEST_P(CudaTraining, TheNextCallSaysThatAnUpdateWasRefused) {
  Training training(GetParam(), DType::f32, cuda()), twin(GetParam(), DType::f32, cuda());
  for (Training* one : {&training, &twin}) {
    one->trainer->enable_clipping(3.0f);
    one->trainer->cumulative_moving_average();
    one->trainer->sparse_updates = SparseUpdates::exact;
    one->trainer->follow({0.01f, 0.1f, 4});
    one->step(0);
  }
  Gradients bad = training.gradients(1);
  std::vector<double> row(7, 0);
  row[3] = std::numeric_limits<double>::quiet_NaN();
  add_to(bad, training.words, 8, row);
  const DeviceCounts before = cuda()->counts();
  training.trainer->update(bad);
  EXPECT_EQ(cuda()->counts().synchronisations, before.synchronisations);
  bad.clear();  // what was looked at is gone
  const std::string message =
      message_of<NumericError>([&] { training.trainer->update(training.gradients(2)); });
  EXPECT_EQ(message, "[Trainer] need finite gradients; got nan for \"/words\", element 3 of row 8");
  EXPECT_EQ(training.trainer->updates(), 1u);
  EXPECT_EQ(training.trainer->learning_rate, twin.trainer->learning_rate);
  expect_same(training, twin, true);
  twin.random = training.random;
  training.step(3), twin.step(3);
  training.trainer->finish_update();
  expect_same(training, twin, true);
  EXPECT_EQ(training.trainer->clipped_updates(), twin.trainer->clipped_updates());
}

}  // namespace
}  // namespace dynet_like
