// Damaged models, checkpoints and arrays: no bit changes what is read.
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "tests/support/damaged_files.h"
#include "tests/support/file_errors.h"
#include "tests/support/precompiled.h"
#include "tests/support/python.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace detail::trainer_kinds;

ParameterCollection some_model(std::uint64_t seed) {
  ParameterCollection model(seed);
  model.add_parameters({7, 5}, "W");
  model.add_subcollection("part").add_parameters({300}, ParameterInitNormal(), "b");
  model.add_lookup_parameters(9, {4}, "words");
  return model;
}

Gradients some_gradients(const ParameterCollection& model) {
  Gradients gradients;
  Random random(3);
  for (const auto& storage : model.storages()) {
    const Doubles values = random_values(random, storage->size());
    gradients.set_values(*storage, std::vector<float>(values.begin(), values.end()));
  }
  return gradients;
}

/// Calls load(), which throws on or leaves the model as it was.
template <class Load>
void unchanged_if_refused(const ParameterCollection& model, const Load& load) {
  const Bytes before = bytes_of(model);
  try {
    load();
  } catch (const FileError&) {
    EXPECT_TRUE(bytes_of(model) == before);
    throw;
  }
}

/// All that a checkpoint says.
struct Checkpoint {
  std::vector<std::vector<std::byte>> parameters, moments;
  std::vector<double> numbers;
  Metadata metadata;

  explicit Checkpoint(const std::string& path) {
    const ParameterCollection model = some_model(2);
    const std::unique_ptr<Trainer> trainer = kinds()[2].make(model);
    Random random;
    unchanged_if_refused(model, [&] { metadata = load_checkpoint(path, model, *trainer, random); });
    for (const auto& storage : model.storages()) parameters.push_back(bytes_of(*storage));
    const TrainerState state = trainer->state();
    const auto add = [&](const Tensor& values) {
      const auto* data = static_cast<const std::byte*>(values.data());
      moments.emplace_back(data, data + values.d.size() * size_of(values.dtype()));
    };
    for (const TrainerState::Moment& moment : state.moments) add(moment.values);
    for (const TrainerState::Average& average : state.averages) {
      add(average.values);
      numbers.push_back(static_cast<double>(average.count));
    }
    for (const double number :
         {double{state.learning_rate}, double{state.clip_threshold}, double{state.weight_decay},
          static_cast<double>(state.updates), static_cast<double>(state.clipped_updates),
          static_cast<double>(random.seed()), static_cast<double>(random.position()),
          double{state.moving_average.beta}}) {
      numbers.push_back(number);
    }
  }
  bool operator==(const Checkpoint&) const = default;
};

class DamagedFilesTest : public PythonTest {
 protected:
  void SetUp() override {}  // needs no Python
};

TEST_F(DamagedFilesTest, Models) {
  const std::string file = path("model.safetensors");
  save_parameters(file, some_model(1), {{"epoch", "3"}, {"words", "a\nb\n"}});
  const Damaged damaged = expect_damage_is_seen(file, [](const std::string& path) {
    const ParameterCollection model = some_model(2);
    Metadata metadata;
    unchanged_if_refused(model, [&] { metadata = load_parameters(path, model); });
    return std::pair(std::move(metadata), bytes_of(model));
  });
  EXPECT_EQ(damaged.read, 0u);
}

TEST_F(DamagedFilesTest, Checkpoints) {
  const std::string file = path("checkpoint.safetensors");
  const ParameterCollection model = some_model(1);
  const std::unique_ptr<Trainer> trainer = kinds()[2].make(model);
  trainer->exponential_moving_average(0.9f);
  for (int i = 0; i < 3; ++i) trainer->update(some_gradients(model));
  save_checkpoint(file, model, *trainer, Random(5), {{"epoch", "3"}});
  const auto answer = [](const std::string& path) { return Checkpoint(path); };
  EXPECT_EQ(expect_damage_is_seen(file, answer).read, 0u);
  EXPECT_EQ(answer(file).metadata, (Metadata{{"epoch", "3"}}));
}

TEST_F(DamagedFilesTest, ArraysOfNumpy) {
  const std::string file = path("model.npz");
  save_npz(file, some_model(1));
  expect_damage_is_seen(file, [](const std::string& path) {
    const ParameterCollection model = some_model(2);
    unchanged_if_refused(model, [&] { load_npz(path, model); });
    return bytes_of(model);
  });
}

TEST_F(DamagedFilesTest, SayWhatDoesNotFit) {
  const std::string file = path("model.safetensors");
  save_parameters(file, some_model(1), {{"epoch", "3"}});
  const std::string good = file_contents(file);
  const auto expect_refused = [&](std::size_t place, char bit, const std::string& part) {
    std::string text = good;
    text[place] = static_cast<char>(text[place] ^ bit);
    std::ofstream(file, std::ios::binary) << text;
    expect_file_error([&] { SafetensorsFile::read(file); }, 0, 0, part);
    const auto bytes = std::as_bytes(std::span(text));
    expect_file_error(
        [&] {
          SafetensorsFile::parse({bytes.begin(), bytes.end()}, "memory");
        },
        0, 0, part);
  };
  expect_refused(good.size() - 1, 1, "need data with the checksum ");
  expect_refused(good.size() - 1, 1, ": the file is damaged");
  expect_refused(good.find("\"3\"") + 1, 1, "need a header with the checksum ");
  expect_refused(good.find("header_crc32"), 1, "need both dynet_like.header_crc32 and");
  expect_refused(good.find("data_crc32"), 1, "need both dynet_like.header_crc32 and");
  // Another program has written the same header with spaces.
  std::string spaced = good;
  spaced.insert(spaced.find(':', spaced.find("header_crc32")) + 1, 8, ' ');
  std::uint64_t size = 0;
  std::memcpy(&size, spaced.data(), sizeof(size));
  size += 8;
  std::memcpy(spaced.data(), &size, sizeof(size));
  std::ofstream(file, std::ios::binary) << spaced;
  expect_file_error([&] { SafetensorsFile::read(file); }, 0, 0,
                    "need dynet_like.header_crc32 as this library writes it; got it in another "
                    "form: the file is damaged (a program ");
}

TEST_F(DamagedFilesTest, OtherProgramsFilesHaveNoChecksum) {
  const ParameterCollection saved = some_model(1), loaded = some_model(2);
  const std::string file = path("model.safetensors");
  save_parameters(file, saved);
  std::string text = file_contents(file);
  // The same bytes of a writer that knows no checksums: spaces take their place.
  const std::size_t begin = text.find("\"__metadata__\""), end = text.find("},", begin) + 2;
  text.replace(begin, end - begin, end - begin, ' ');
  std::ofstream(file, std::ios::binary) << text;
  load_parameters(file, loaded);
  for (const auto& storage : saved.storages()) {
    EXPECT_EQ(bytes_of(*storage), bytes_of(*loaded.find(storage->name)));
  }
}

}  // namespace
}  // namespace dynet_like
