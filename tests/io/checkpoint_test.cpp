// Checkpoints: training that goes on with the same bits, refusals that change nothing, damage, and
// saves that fail.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "dynet_like/io/safetensors.h"
#include "tests/io/small_model.h"
#include "tests/support/damaged_files.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

// A model with every kind of parameter, and all that training it needs.
struct Training : SmallModel {
  const ParameterCollection& model = all;
  Parameter fixed = all.add_parameters({2}, "fixed"), late = all.add_parameters({2}, "late");
  std::unique_ptr<Trainer> trainer;
  Random random;

  Training(std::uint64_t seed, DType dtype, const Kind& kind,
           const std::shared_ptr<Device>& device = default_device())
      : SmallModel(seed, dtype, device), trainer(kind.make(all)), random(seed) {
    fixed.set_updated(false);
  }

  void step() {
    Gradients gradients;
    for (const Parameter& parameter : {matrix, bias, cube, fixed}) {
      add_to(gradients, parameter, random_values(random, parameter.dim().size()));
    }
    if (random.below(3) == 0) add_to(gradients, late, random_values(random, 2));
    for (int i = 0; i < 2; ++i) {
      add_to(gradients, words, random.below(7), random_values(random, 3));
      add_to(gradients, tags, random.below(2), random_values(random, 4));
    }
    trainer->update(gradients);
    trainer->learning_rate *= 0.9f;
  }
  void save(const std::string& path, const Metadata& metadata = {}) const {
    save_checkpoint(path, model, *trainer, random, metadata);
  }
  Metadata load(const std::string& path) { return load_checkpoint(path, model, *trainer, random); }
};

// All that a checkpoint says, or that a load which fails must leave as it was.
struct Contents {
  Bytes values;
  std::vector<Bytes> moments;
  std::vector<double> numbers;

  explicit Contents(const Training& training) : values(bytes_of(training.model)) {
    const TrainerState state = training.trainer->state();
    const auto add = [&](const Tensor& tensor) {
      const auto* data = static_cast<const std::byte*>(tensor.data());
      moments.emplace_back(data, data + tensor.d.size() * size_of(tensor.dtype()));
    };
    for (const TrainerState::Moment& moment : state.moments) add(moment.values);
    for (const TrainerState::Average& average : state.averages) {
      add(average.values);
      numbers.push_back(static_cast<double>(average.count));
    }
    for (const auto number : {state.updates, state.clipped_updates, training.random.seed(),
                              training.random.position()}) {
      numbers.push_back(static_cast<double>(number));
    }
    for (const float number : {state.learning_rate, state.clip_threshold, state.weight_decay,
                               state.moving_average.beta}) {
      numbers.push_back(double{number});
    }
  }
  bool operator==(const Contents&) const = default;
};

struct CheckpointTest : FolderTest {
  const Kind sgd_ = kinds()[0], adam_ = kinds()[2];
};

TEST_F(CheckpointTest, RowsLeftBehindAreSavedUpToDateAndOverwritten) {
  Training saved(1, DType::f32, adam_), loaded(2, DType::f32, adam_);
  for (Training* training : {&saved, &loaded}) {
    training->trainer->sparse_updates = SparseUpdates::exact;
    for (int i = 0; i < 3; ++i) training->step();
  }
  const Metadata metadata = {{"epoch", "3"}, {"", "\t\\"}};
  save_parameters(path(), saved.model, metadata);
  EXPECT_EQ(load_parameters(path(), loaded.model), metadata);
  EXPECT_TRUE(bytes_of(loaded.model) == bytes_of(saved.model));
}

TEST_F(CheckpointTest, KeysOfTheLibraryAreRefused) {
  const Training training(1, DType::f32, sgd_);
  const Metadata bad = {{"dynet_like.updates", "1"}};
  EXPECT_THROW(save_parameters(path(), training.model, bad), UsageError);
  EXPECT_THROW(training.save(path(), bad), UsageError);
  EXPECT_EQ(files(), 0);
}

TEST_F(CheckpointTest, NumbersInMetadataComeBack) {
  Metadata metadata;
  const std::vector<double> numbers = {
      0.1, 1.0 / 3, -0.0, 1e300, 5e-324, 123456789012345678.0, static_cast<double>(0.1f)};
  for (const double number : numbers) {
    metadata["x"] = number_text(number);
    const double back = number_of(metadata, "x");
    EXPECT_EQ(std::memcmp(&back, &number, sizeof back), 0) << metadata["x"];
  }
  metadata["x"] = "3 epochs";
  EXPECT_THROW(number_of(metadata, "x"), UsageError);
  EXPECT_TRUE(mentions(message_of<UsageError>([&] { number_of(metadata, "y"); }),
                       "got no such key, the only one is \"x\""));
}

// Five steps, a checkpoint, five steps by fresh objects: the bits of ten steps.
TEST_F(CheckpointTest, TrainingGoesOnWithTheSameBits) {
  for (const Kind& kind : kinds()) {
    for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        Training whole(1, dtype, kind), first(1, dtype, kind), second(99, dtype, kind);
        whole.trainer->sparse_updates = first.trainer->sparse_updates = mode;
        whole.trainer->enable_clipping(4.25f);
        first.trainer->enable_clipping(4.25f);
        second.step();  // what the new objects did before must not matter
        for (int i = 0; i < 5; ++i) whole.step(), first.step();
        const Metadata metadata = {{"epoch", "5"}, {"best", number_text(0.1 + 0.2)}};
        first.save(path(), metadata);
        EXPECT_EQ(second.load(path()), metadata);
        EXPECT_EQ(second.trainer->updates(), 5u);
        EXPECT_EQ(second.trainer->sparse_updates, mode);
        for (int i = 0; i < 5; ++i) whole.step(), second.step(), first.step();
        for (const Training* training : {&first, &second}) {  // saving does not disturb a run
          EXPECT_TRUE(bytes_of(training->model) == bytes_of(whole.model)) << kind.name;
        }
        EXPECT_EQ(second.trainer->learning_rate, whole.trainer->learning_rate);
        EXPECT_EQ(second.trainer->clip_threshold, 4.25f);
        EXPECT_EQ(second.random.position(), whole.random.position());
      }
    }
  }
}

TEST_F(CheckpointTest, IsAModelFile) {
  Training saved(1, DType::f32, adam_);
  const Training loaded(2, DType::f32, adam_);
  saved.step();
  saved.save(path(), {{"epoch", "1"}});
  EXPECT_EQ(load_parameters(path(), loaded.model), (Metadata{{"epoch", "1"}}));
  EXPECT_TRUE(bytes_of(loaded.model) == bytes_of(saved.model));
  EXPECT_EQ(loaded.trainer->updates(), 0u);
  const SafetensorsFile file = SafetensorsFile::read(path());
  ASSERT_NE(file.find("trainer/mean/b"), nullptr);
  EXPECT_EQ(file.find("trainer/square/encoder/tags")->shape, (std::vector<std::uint64_t>{2, 2, 2}));
  EXPECT_EQ(file.find("trainer/mean/fixed"), nullptr);
  EXPECT_EQ(static_cast<float>(number_of(file.metadata(), "dynet_like.learning_rate")),
            saved.trainer->learning_rate);
  // Moments are no parameters that are left over.
  EXPECT_TRUE(load_matching(path(), loaded.model).is_complete());
  EXPECT_TRUE(load_matching(path(), ParameterCollection()).loaded.empty());
}

TEST_F(CheckpointTest, WhatDoesNotFitChangesNothing) {
  Training adam(1, DType::f32, adam_), momentum(2, DType::f32, kinds()[1]);
  adam.step();
  momentum.step();
  adam.save(path());
  momentum.save(path("good"));
  const Contents before(momentum);
  const auto expect_refused = [&](const std::string& part) {
    EXPECT_TRUE(mentions(message_of<FileError>([&] { momentum.load(path()); }), part));
    EXPECT_TRUE(Contents(momentum) == before) << part;
  };
  expect_refused("need the state of MomentumSGDTrainer(momentum=0.9); got");
  save_parameters(path(), momentum.model);
  expect_refused("a checkpoint with \"dynet_like.trainer\" in its metadata; got none");
  // The good file with one thing changed.
  const SafetensorsFile good = SafetensorsFile::read(path("good"));
  for (const std::string key : {"updates", "learning_rate", "clip_threshold", "sparse_updates",
                                "random_seed", "random_position", "trainer"}) {
    Metadata metadata = good.metadata();
    metadata.erase("dynet_like." + key);
    write_safetensors(path(), good.entries(), metadata);
    expect_refused("dynet_like." + key);
    for (const std::string text : {"1x", "lazy_rows"}) {
      metadata["dynet_like." + key] = text;
      write_safetensors(path(), good.entries(), metadata);
      expect_refused(key == "sparse_updates" ? "lazy or exact" : "got");
    }
  }
  const char* const moment = "trainer/velocity/words";
  for (const auto& [from, to, part] :
       {std::tuple(moment, "trainer/velocity/other", "moments of the"),
        {moment, "trainer/speed/words", "\"speed\""},
        {moment, "trainer/", "got \"trainer/\""},
        {moment, "trainer/velocity/fixed", "F32 [2] for"},
        {moment, "/velocity", "no tensors but"},
        {"/words", "/word", "not asked for, the only one is \"/word\""}}) {
    std::vector<TensorEntry> entries(good.entries().begin(), good.entries().end());
    for (TensorEntry& entry : entries) {
      if (entry.name == from) entry.name = to;
    }
    write_safetensors(path(), entries, good.metadata());
    expect_refused(part);
  }
}

TEST_F(CheckpointTest, DamageIsSeen) {
  Training saved(1, DType::f32, adam_);
  saved.trainer->exponential_moving_average(0.9f);
  for (int i = 0; i < 3; ++i) saved.step();
  saved.save(path(), {{"epoch", "3"}, {"words", "a\nb\n"}});
  const Damaged damaged = expect_damage_is_seen(path(), [&](const std::string& path) {
    Training loaded(2, DType::f32, adam_);
    const Contents before(loaded);
    try {
      const Metadata metadata = loaded.load(path);
      EXPECT_EQ(metadata, (Metadata{{"epoch", "3"}, {"words", "a\nb\n"}}));
    } catch (const FileError&) {
      EXPECT_TRUE(Contents(loaded) == before);
      throw;
    }
    return Contents(loaded);
  });
  EXPECT_EQ(damaged.read, 0u);
}

// A child process with a limit on file sizes, which stands for a full disk or a kill. It cannot use
// a GPU that its parent has opened.
TEST_F(CheckpointTest, AFailedOrKilledSaveLeavesTheOldFile) {
  Training training(1, DType::f32, adam_, cpu_device());
  training.step();
  training.save(path());
  const std::string before = contents();
  training.step();
  for (const bool killed : {false, true}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit sizes = {2048, 2048}, none = {0, 0};
      ::setrlimit(RLIMIT_CORE, &none);
      ::setrlimit(RLIMIT_FSIZE, &sizes);
      std::signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
      try {
        training.save(path());
      } catch (const FileError&) {
        ::_exit(42);
      }
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 42, true);
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(files(), killed ? 2 : 1) << "only a killed program leaves its temporary file";
  }
}

}  // namespace
}  // namespace dynet_like
