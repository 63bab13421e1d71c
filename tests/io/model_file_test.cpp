// Model files and checkpoints: layout, refusals that change nothing, training that goes on.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "dynet_like/io/safetensors.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;
using namespace trainer_kinds;

// All values of a collection, byte for byte.
std::vector<std::uint64_t> versions_of(const ParameterCollection& model) {
  std::vector<std::uint64_t> result;
  for (const auto& parameter : model.storages()) result.push_back(parameter->values.version());
  return result;
}

// A model with every kind of parameter, and all that training it needs.
struct Training {
  ParameterCollection model;
  Parameter matrix, vector, cube, fixed, late;
  LookupParameter words, matrices;
  std::unique_ptr<Trainer> trainer;
  Random random;

  Training(std::uint64_t seed, DType dtype, const Kind& kind,
           const std::shared_ptr<Device>& device = default_device())
      : model(seed, dtype, device), random(seed) {
    matrix = model.add_parameters({3, 4}, "W");
    ParameterCollection part = model.add_subcollection("part");
    vector = part.add_parameters({5}, ParameterInitNormal(), "b");
    cube = part.add_parameters({2, 3, 4});
    fixed = model.add_parameters({2}, "fixed");
    late = model.add_parameters({2}, "late");
    words = model.add_lookup_parameters(7, {4}, "words");
    matrices = model.add_lookup_parameters(5, {2, 3}, "matrices");
    fixed.set_updated(false);
    trainer = kind.make(model);
  }

  void step() {
    Gradients gradients;
    for (const Parameter& parameter : {matrix, vector, cube, fixed}) {
      add_to(gradients, parameter, random_values(random, parameter.dim().size()));
    }
    if (random.below(3) == 0) add_to(gradients, late, random_values(random, 2));
    for (int i = 0; i < 2; ++i) {
      add_to(gradients, words, random.below(7), random_values(random, 4));
      add_to(gradients, matrices, random.below(5), random_values(random, 6));
    }
    trainer->update(gradients);
    trainer->learning_rate *= 0.9f;
  }
};

struct ModelFileTest : FolderTest {
  const Kind sgd_ = kinds()[0], adam_ = kinds()[2];
};

TEST_F(ModelFileTest, ParametersComeBack) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Training saved(1, dtype, sgd_), loaded(2, dtype, sgd_);
    saved.matrix.values().set(5, -0.0);
    saved.matrix.values().set(6, std::numeric_limits<double>::infinity());
    const Metadata metadata = {{"epoch", "3"}, {"", "\t"}};
    save_parameters(path(), saved.model, metadata);
    EXPECT_TRUE(bytes_of(loaded.model) != bytes_of(saved.model));
    std::vector<std::uint64_t> versions = versions_of(loaded.model);
    EXPECT_EQ(load_parameters(path(), loaded.model), metadata);
    EXPECT_TRUE(bytes_of(loaded.model) == bytes_of(saved.model));
    for (std::uint64_t& version : versions) ++version;
    EXPECT_EQ(versions_of(loaded.model), versions);
  }
}

TEST_F(ModelFileTest, RowsLeftBehindAreSavedUpToDateAndOverwritten) {
  Training saved(1, DType::f32, adam_), loaded(2, DType::f32, adam_);
  for (Training* training : {&saved, &loaded}) {
    training->trainer->sparse_updates = SparseUpdates::exact;
    for (int i = 0; i < 3; ++i) training->step();
  }
  save_parameters(path(), saved.model);
  load_parameters(path(), loaded.model);
  EXPECT_TRUE(bytes_of(loaded.model) == bytes_of(saved.model));
}

TEST_F(ModelFileTest, ElementsAreRowMajorAndRowsOfTablesComeFirst) {
  ParameterCollection model;
  const auto numbered = [](unsigned n) {
    std::vector<float> values(n);
    for (unsigned i = 0; i < n; ++i) values[i] = static_cast<float>(i);
    return ParameterInitFromVector(values);
  };
  model.add_parameters({2, 3}, numbered(6), "W");
  model.add_parameters({2, 1}, numbered(2), "column");
  model.add_parameters({2, 3, 2}, numbered(12), "cube");
  model.add_lookup_parameters(3, {2}, numbered(6), "words");
  model.add_lookup_parameters(2, {2, 3}, numbered(12), "matrices");
  save_parameters(path(), model);
  const SafetensorsFile file = SafetensorsFile::read(path());
  const auto expect = [&](const char* name, const std::vector<std::uint64_t>& shape,
                          const std::vector<float>& values) {
    const TensorEntry* entry = file.find(name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(entry->dtype, "F32");
    EXPECT_EQ(entry->shape, shape) << name;
    std::vector<float> found(entry->bytes.size() / sizeof(float));
    std::memcpy(found.data(), entry->bytes.data(), entry->bytes.size());
    EXPECT_EQ(found, values) << name;
  };
  EXPECT_EQ(file.entries().size(), 5u);
  expect("/W", {2, 3}, {0, 2, 4, 1, 3, 5});
  expect("/column", {2, 1}, {0, 1});
  expect("/cube", {2, 3, 2}, {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
  expect("/words", {3, 2}, {0, 1, 2, 3, 4, 5});
  expect("/matrices", {2, 2, 3}, {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
}

TEST_F(ModelFileTest, ASubcollectionCanBeSavedAlone) {
  Training saved(1, DType::f32, sgd_);
  save_parameters(path("part"), saved.model);
  ParameterCollection other(3);
  ParameterCollection part = other.add_subcollection("part");
  const Parameter vector = part.add_parameters({5}, "b");
  other.add_parameters({1}, "outside");
  save_parameters(path(), part);
  EXPECT_EQ(SafetensorsFile::read(path()).entries().size(), 1u);
  EXPECT_THROW(load_parameters(path("part"), part), FileError);
  load_parameters(path("part"), part, ExtraTensors::ignore);
  EXPECT_EQ(bytes_of(vector.get_storage()), bytes_of(saved.vector.get_storage()));
}

TEST_F(ModelFileTest, WhatDoesNotFitChangesNothing) {
  ParameterCollection model(1);
  const Parameter first = model.add_parameters({2}, "a");
  model.add_parameters({2, 3}, "W");
  const auto before = bytes_of(model);
  const auto versions = versions_of(model);
  const auto refused = [&](const std::function<void(ParameterCollection&)>& make,
                           DType dtype = DType::f32) {
    ParameterCollection other(2, dtype);
    make(other);
    save_parameters(path(), other);
    const std::string message = message_of<FileError>([&] { load_parameters(path(), model); });
    EXPECT_TRUE(bytes_of(model) == before);
    EXPECT_EQ(versions_of(model), versions);
    const std::string prefix = path() + ": [load] need ";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.substr(std::min(prefix.size(), message.size()));
  };
  EXPECT_EQ(refused([](ParameterCollection& other) { other.add_parameters({2}, "a"); }),
            "tensors named \"/W\"; got 1 other");
  EXPECT_EQ(refused([](ParameterCollection& other) { other.add_parameters({2}, "V"); }),
            "tensors named \"/a\", \"/W\"; got 1 other, 1 of them not asked for, the only one "
            "is \"/V\"");
  EXPECT_EQ(refused([](ParameterCollection& other) {
              other.add_parameters({2}, "a");
              other.add_parameters({3, 2}, "W");
            }),
            "F32 [2, 3] for \"/W\"; got F32 [3, 2]");
  EXPECT_EQ(refused([](ParameterCollection& other) {
              other.add_parameters({2}, "a");
              other.add_parameters({2, 3, 1}, "W");
            }),
            "F32 [2, 3] for \"/W\"; got F32 [2, 3, 1]");
  EXPECT_EQ(refused(
                [](ParameterCollection& other) {
                  other.add_parameters({2}, "a");
                  other.add_parameters({2, 3}, "W");
                },
                DType::f64),
            "F32 [2] for \"/a\"; got F64 [2]");
  EXPECT_EQ(refused([](ParameterCollection& other) {
              other.add_parameters({2}, "a");
              other.add_parameters({2, 3}, "W");
              for (int i = 0; i < 7; ++i) other.add_parameters({1}, "x");
            }),
            "no tensors but the collection's; got \"/x\", \"/x_1\", \"/x_2\", \"/x_3\", \"/x_4\" "
            "and 2 more");
  load_parameters(path(), model, ExtraTensors::ignore);
  EXPECT_TRUE(bytes_of(model) != before);
}

TEST_F(ModelFileTest, KeysOfTheLibraryAreRefused) {
  Training training(1, DType::f32, sgd_);
  const Metadata bad = {{"dynet_like.updates", "1"}};
  EXPECT_THROW(save_parameters(path(), training.model, bad), UsageError);
  EXPECT_THROW(save_checkpoint(path(), training.model, *training.trainer, training.random, bad),
               UsageError);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(ModelFileTest, NumbersInMetadataComeBack) {
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
  EXPECT_THROW(number_of(metadata, "y"), UsageError);
}

// Five steps, a checkpoint, five steps by fresh objects: the bits of ten steps.
TEST_F(ModelFileTest, TrainingGoesOnWithTheSameBits) {
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
        save_checkpoint(path(), first.model, *first.trainer, first.random, metadata);
        EXPECT_EQ(load_checkpoint(path(), second.model, *second.trainer, second.random), metadata);
        EXPECT_EQ(second.trainer->updates(), 5u);
        EXPECT_EQ(second.trainer->sparse_updates, mode);
        for (int i = 0; i < 5; ++i) whole.step(), second.step();
        EXPECT_TRUE(bytes_of(second.model) == bytes_of(whole.model)) << kind.name;
        EXPECT_EQ(second.trainer->learning_rate, whole.trainer->learning_rate);
        EXPECT_EQ(second.trainer->clip_threshold, 4.25f);
        EXPECT_EQ(second.random.position(), whole.random.position());
        // The run that was saved is not disturbed by it.
        for (int i = 0; i < 5; ++i) first.step();
        EXPECT_TRUE(bytes_of(first.model) == bytes_of(whole.model)) << kind.name;
      }
    }
  }
}

TEST_F(ModelFileTest, ACheckpointIsAModelFile) {
  Training saved(1, DType::f32, adam_), loaded(2, DType::f32, adam_);
  saved.step();
  save_checkpoint(path(), saved.model, *saved.trainer, saved.random, {{"epoch", "1"}});
  EXPECT_EQ(load_parameters(path(), loaded.model), (Metadata{{"epoch", "1"}}));
  EXPECT_TRUE(bytes_of(loaded.model) == bytes_of(saved.model));
  EXPECT_EQ(loaded.trainer->updates(), 0u);
  const SafetensorsFile file = SafetensorsFile::read(path());
  ASSERT_NE(file.find("trainer/mean/part/b"), nullptr);
  EXPECT_EQ(file.find("trainer/square/matrices")->shape, (std::vector<std::uint64_t>{5, 2, 3}));
  EXPECT_EQ(file.find("trainer/mean/fixed"), nullptr);
  EXPECT_EQ(static_cast<float>(number_of(file.metadata(), "dynet_like.learning_rate")),
            saved.trainer->learning_rate);
}

// What a failed load must leave as it was.
struct Snapshot {
  Bytes values;
  std::vector<Bytes> moments;
  std::vector<std::uint64_t> numbers;

  explicit Snapshot(Training& training)
      : values(bytes_of(training.model)), numbers(versions_of(training.model)) {
    const TrainerState state = training.trainer->state();
    for (const TrainerState::Moment& moment : state.moments) {
      const auto* data = static_cast<const std::byte*>(moment.values.data());
      moments.emplace_back(data, data + moment.values.d.size() * size_of(moment.values.dtype()));
    }
    numbers.push_back(state.updates);
    numbers.push_back(training.random.position());
    numbers.push_back(training.random.seed());
  }
  bool operator==(const Snapshot&) const = default;
};

TEST_F(ModelFileTest, ACheckpointThatDoesNotFitChangesNothing) {
  Training adam(1, DType::f32, adam_), momentum(2, DType::f32, kinds()[1]);
  adam.step();
  momentum.step();
  save_checkpoint(path(), adam.model, *adam.trainer, adam.random);
  const Snapshot before(momentum);
  const auto refused = [&] {
    const std::string message = message_of<FileError>(
        [&] { load_checkpoint(path(), momentum.model, *momentum.trainer, momentum.random); });
    EXPECT_TRUE(Snapshot(momentum) == before);
    return message;
  };
  EXPECT_NE(refused().find("need the state of MomentumSGDTrainer(momentum=0.9); got"),
            std::string::npos);
  save_parameters(path(), momentum.model);
  EXPECT_NE(refused().find("a checkpoint with \"dynet_like.trainer\" in its metadata; got none"),
            std::string::npos);
  // A file with one thing changed.
  const auto altered = [&](const std::function<void(std::vector<TensorEntry>&, Metadata&)>& alter) {
    save_checkpoint(path("good"), momentum.model, *momentum.trainer, momentum.random);
    const SafetensorsFile good = SafetensorsFile::read(path("good"));
    std::vector<TensorEntry> entries(good.entries().begin(), good.entries().end());
    Metadata metadata = good.metadata();
    alter(entries, metadata);
    write_safetensors(path(), entries, metadata);
    return refused();
  };
  for (const char* key : {"updates", "learning_rate", "clip_threshold", "sparse_updates",
                          "random_seed", "random_position", "trainer"}) {
    const std::string full = std::string("dynet_like.") + key;
    EXPECT_NE(altered([&](auto&, Metadata& data) { data.erase(full); }).find(full),
              std::string::npos);
    EXPECT_NE(altered([&](auto&, Metadata& data) { data[full] = "1x"; }).find("got"),
              std::string::npos);
  }
  const char* mode = "dynet_like.sparse_updates";
  EXPECT_NE(altered([&](auto&, Metadata& data) { data[mode] = "lazy_rows"; }).find("lazy or exact"),
            std::string::npos);
  const auto renamed = [&](const char* from, const char* to) {
    return altered([&](std::vector<TensorEntry>& entries, Metadata&) {
      for (TensorEntry& entry : entries) {
        if (entry.name == from) entry.name = to;
      }
    });
  };
  const char* moment = "trainer/velocity/words";
  EXPECT_NE(renamed(moment, "trainer/velocity/other").find("moments of the"), std::string::npos);
  EXPECT_NE(renamed(moment, "trainer/speed/words").find("\"speed\""), std::string::npos);
  EXPECT_NE(renamed(moment, "trainer/").find("got \"trainer/\""), std::string::npos);
  EXPECT_NE(renamed(moment, "trainer/velocity/fixed").find("F32 [2] for"), std::string::npos);
  EXPECT_NE(renamed(moment, "/velocity").find("no tensors but"), std::string::npos);
  EXPECT_NE(renamed("/words", "/word").find("not asked for, the only one is \"/word\""),
            std::string::npos);
}

// A child process with a limit on file sizes, which stands for a full disk or a kill. It cannot use
// a GPU that its parent has opened.
TEST_F(ModelFileTest, AFailedOrKilledSaveLeavesTheOldFile) {
  Training training(1, DType::f32, adam_, cpu_device());
  training.step();
  save_checkpoint(path(), training.model, *training.trainer, training.random);
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
        save_checkpoint(path(), training.model, *training.trainer, training.random);
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
