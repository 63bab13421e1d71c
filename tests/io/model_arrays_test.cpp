// Models as numpy's arrays, single tensors of files, and models in Python and back.
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/io/checkpoint.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"

namespace dynet_like {
namespace {

// A parameter and a table of every kind.
struct Model {
  ParameterCollection all;
  Parameter matrix, cube;
  LookupParameter words, matrices;

  explicit Model(std::uint64_t seed, DType dtype = DType::f32) : all(seed, dtype) {
    matrix = all.add_parameters({3, 4}, "W");
    ParameterCollection part = all.add_subcollection("part");
    cube = part.add_parameters({2, 3, 4});
    words = all.add_lookup_parameters(7, {4}, "words");
    matrices = all.add_lookup_parameters(5, {2, 3}, "matrices");
  }

  std::vector<std::vector<std::byte>> values() const {
    std::vector<std::vector<std::byte>> result;
    for (const auto& storage : all.storages()) result.push_back(bytes_of(*storage));
    return result;
  }
  std::vector<std::uint64_t> versions() const {
    std::vector<std::uint64_t> result;
    for (const auto& storage : all.storages()) result.push_back(storage->values.version());
    return result;
  }
};

std::string temporary(const char* name) { return testing::TempDir() + name; }

TEST(ModelArraysTest, ParametersComeBackFromArrays) {
  const std::string arrays_path = temporary("model_arrays_test.npz");
  for (const DType dtype : {DType::f32, DType::f64}) {
    Model saved(1, dtype), loaded(2, dtype);
    save_npz(arrays_path, saved.all);
    std::vector<std::uint64_t> versions = loaded.versions();
    load_npz(arrays_path, loaded.all);
    EXPECT_TRUE(loaded.values() == saved.values());
    for (std::uint64_t& version : versions) ++version;
    EXPECT_EQ(loaded.versions(), versions);
    // Nothing changes where not all is as it should be.
    Model other(3, dtype == DType::f32 ? DType::f64 : DType::f32);
    const auto before = other.values();
    EXPECT_THROW(load_npz(arrays_path, other.all), FileError);
    ParameterCollection part(1, dtype);
    part.add_parameters({3, 4}, "W");
    EXPECT_THROW(load_npz(arrays_path, part), FileError);
    EXPECT_NO_THROW(load_npz(arrays_path, part, ExtraTensors::ignore));
    EXPECT_TRUE(other.values() == before);
  }
  std::remove(arrays_path.c_str());
}

TEST(ModelArraysTest, OneTensorIsReadIntoAParameterOfAnyName) {
  const std::string arrays_path = temporary("model_arrays_test.npz"),
                    tensors_path = temporary("model_arrays_test.safetensors");
  Model saved(1);
  save_npz(arrays_path, saved.all);
  save_parameters(tensors_path, saved.all);
  const NumpyFile arrays = NumpyFile::read(arrays_path);
  const SafetensorsFile tensors = SafetensorsFile::read(tensors_path);
  for (const TensorEntries* file :
       {static_cast<const TensorEntries*>(&arrays), static_cast<const TensorEntries*>(&tensors)}) {
    ParameterCollection model(2);
    const Parameter matrix = model.add_parameters({3, 4});
    const LookupParameter table = model.add_lookup_parameters(7, {4}),
                          small = model.add_lookup_parameters(6, {4});
    load_parameter(*file, "/W", matrix);
    load_parameter(*file, "/words", table);
    EXPECT_EQ(as_vector(matrix.values()), as_vector(saved.matrix.values()));
    EXPECT_EQ(as_vector(table.all_values()), as_vector(saved.words.all_values()));
    const std::vector<float> before = as_vector(small.all_values());
    EXPECT_NE(message_of<FileError>([&] {
                load_parameter(*file, "/words", small);
              }).find("need F32 [6, 4] for \"/words\"; got F32 [7, 4]"),
              std::string::npos);
    EXPECT_THROW(load_parameter(*file, "/word", table), FileError);
    EXPECT_THROW(load_parameter(*file, "/words", LookupParameter()), UsageError);
    EXPECT_THROW(load_parameter(*file, "/W", Parameter()), UsageError);
    EXPECT_EQ(as_vector(small.all_values()), before);
  }
  std::remove(arrays_path.c_str());
  std::remove(tensors_path.c_str());
}

// What the reference implementations read and write.
class ModelInPythonTest : public PythonTest {
 protected:
  ModelInPythonTest() : model_(1) {
    model_.matrix.values().set(1 + 2 * 3, 42);        // W[1][2]
    model_.cube.values().set(1 + 2 * 2 + 3 * 6, 43);  // [1][2][3]
    model_.matrices.values(4).set(1 + 2 * 2, 44);     // row 4: [1][2]
  }

  Model model_;
};

const std::string kPrintElements =
    "print(t['/W'][1][2], t['/part/_0'][1][2][3], t['/matrices'][4][1][2])\n";

TEST_F(ModelInPythonTest, CheckpointsHaveTheSameElements) {
  AdamTrainer trainer(model_.all);
  ComputationGraph graph;
  trainer.update(graph.backward(sum_elems(lookup(graph, model_.words, 3))));
  save_checkpoint(path("run.safetensors"), model_.all, trainer, Random(1), {{"epoch", "7"}});
  EXPECT_EQ(run("import safetensors, safetensors.numpy\n"
                "t = safetensors.numpy.load_file('run.safetensors')\n" +
                kPrintElements +
                "with safetensors.safe_open('run.safetensors', 'numpy') as file:\n"
                "  print(t['trainer/mean/words'].shape, file.metadata()['epoch'])\n"),
            "42.0 43.0 44.0\n(7, 4) 7\n");
}

TEST_F(ModelInPythonTest, ArraysHaveTheSameElements) {
  save_npz(path("model.npz"), model_.all);
  EXPECT_EQ(run("import numpy\nt = numpy.load('model.npz')\n" + kPrintElements +
                "print(t['/words'].shape, t['/W'].dtype)\n"),
            "42.0 43.0 44.0\n(7, 4) float32\n");
}

// What Python makes of a model is what both kinds of file are loaded from.
TEST_F(ModelInPythonTest, LoadsWhatPythonSaves) {
  save_npz(path("model.npz"), model_.all);
  run("import numpy, safetensors.numpy\n"
      "t = {k: 2 * v for k, v in numpy.load('model.npz').items()}\n"
      "safetensors.numpy.save_file(t, 'twice.safetensors')\n"
      "numpy.savez('twice.npz', **t)\n"
      "numpy.savez_compressed('small.npz', **{k: numpy.asfortranarray(v) for k, v in "
      "t.items()})\n");
  const Model twice(2), stored(3), deflated(4);
  load_parameters(path("twice.safetensors"), twice.all);
  load_npz(path("twice.npz"), stored.all);
  load_npz(path("small.npz"), deflated.all);
  EXPECT_TRUE(stored.values() == twice.values());
  EXPECT_TRUE(deflated.values() == twice.values());
  EXPECT_EQ(as_vector(stored.matrix.values())[1 + 2 * 3], 84);
  EXPECT_EQ(as_vector(deflated.matrices.values(4))[1 + 2 * 2], 88);
}

}  // namespace
}  // namespace dynet_like
