// Models as numpy's arrays, single tensors of files, and models in Python and back.
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/tensor_file.h"
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
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

std::string temporary(const char* name) { return ::testing::TempDir() + name; }

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

TEST(ModelArraysTest, AMistypedNameGetsTheNearestOfAll) {
  const std::string path = temporary("model_arrays_test_names.safetensors");
  ParameterCollection saved;
  for (int i = 0; i < 100; ++i) {
    saved.add_subcollection("layer_" + std::to_string(i)).add_parameters({1}, "W");
  }
  save_parameters(path, saved);
  const Parameter one = ParameterCollection().add_parameters({1}, "one");
  EXPECT_EQ(message_of<FileError>(
                [&] { load_parameter(SafetensorsFile::read(path), "/layer_77/V", one); }),
            path +
                ": [load] need tensors named \"/layer_77/V\"; got 100 others, 100 of them not "
                "asked for, the nearest are \"/layer_77/W\", \"/layer_7/W\", \"/layer_17/W\"");
  EXPECT_NE(message_of<UsageError>([] {
              number_of({{"epochs", "1"}}, "epoch");
            }).find("got no such key, the only one is \"epochs\""),
            std::string::npos);
}

// Numbers of 16 bits in the place of the parameters' own: all of them, in both types.
TEST(ModelArraysTest, HalvesBecomeFloatsAndDoubles) {
  const std::string path = temporary("model_arrays_test_halves.safetensors");
  std::vector<std::uint16_t> bits(1 << 16);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  const auto bytes = std::as_bytes(std::span(bits));
  for (const DType dtype : {DType::f32, DType::f64}) {
    ParameterCollection model(1, dtype);
    const Parameter matrix = model.add_parameters({256, 256}, "W");
    const LookupParameter table = model.add_lookup_parameters(4, {128, 128}, "T");
    for (const char* name : {"F16", "BF16"}) {
      const std::vector<TensorEntry> entries = {{"/W", name, {256, 256}, bytes},
                                                {"/T", name, {4, 128, 128}, bytes}};
      write_safetensors(path, entries);
      load_parameters(path, model);
      const auto expected = [&](unsigned i) {  // the value of the bits i
        const int exponent_bits = std::string(name) == "F16" ? 5 : 8,
                  fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
        const unsigned fraction = i & ((1u << fraction_bits) - 1);
        const int exponent = static_cast<int>(i >> fraction_bits) & ((1 << exponent_bits) - 1);
        double value = std::ldexp(fraction, -fraction_bits);
        if (exponent == (1 << exponent_bits) - 1) {
          value = fraction == 0 ? HUGE_VAL : std::nan("");
        } else {
          value = std::ldexp(value + (exponent > 0 ? 1 : 0), std::max(exponent, 1) - bias);
        }
        return std::copysign(value, i >> 15 == 0 ? 1.0 : -1.0);
      };
      const auto check = [&](double found, unsigned i) {
        const double right = expected(i);
        ASSERT_TRUE(std::isnan(right) ? std::isnan(found) : found == right) << name << ' ' << i;
        ASSERT_EQ(std::signbit(found), std::signbit(right)) << name << ' ' << i;
      };
      const std::vector<double> w = as_doubles(matrix.values()), t = as_doubles(table.all_values());
      for (unsigned row = 0; row < 256; ++row) {  // of the file
        for (unsigned column = 0; column < 256; ++column) {
          check(w[row + 256 * column], 256 * row + column);
        }
      }
      for (unsigned i = 0; i < 1u << 16; ++i) {
        const unsigned entry = i >> 14, row = i >> 7 & 127, column = i & 127;
        check(t[entry << 14 | column << 7 | row], i);
      }
    }
    const std::vector<TensorEntry> other = {{"/W", "F16", {256, 128, 2}, bytes},
                                            {"/T", "F16", {4, 128, 128}, bytes}};
    write_safetensors(path, other);
    EXPECT_NE(message_of<FileError>([&] { load_parameters(path, model); }).find("got F16 [256, 1"),
              std::string::npos);
  }
}

// A number is a NaN if its bits without the sign are above those of infinity.
template <class Bits>
void expect_first_nan(const char* dtype, Bits infinity) {
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  std::vector<Bits> numbers(3000, static_cast<Bits>(kSign | infinity));
  numbers[1] = infinity;
  const TensorEntry entry{"/W", dtype, {numbers.size()}, std::as_bytes(std::span(numbers))};
  EXPECT_EQ(detail::tensor_file::first_nan(entry), std::nullopt) << dtype;
  for (const std::size_t at : {2999, 1024, 1023, 0}) {
    numbers[at] = static_cast<Bits>((at % 2 == 0 ? kSign : 0) | (infinity + 1));
    EXPECT_EQ(detail::tensor_file::first_nan(entry), at) << dtype;
  }
}

TEST(ModelArraysTest, TheFirstNaNIsFoundInEveryType) {
  expect_first_nan<std::uint64_t>("F64", 0x7ff0000000000000);
  expect_first_nan<std::uint32_t>("F32", 0x7f800000);
  expect_first_nan<std::uint16_t>("F16", 0x7c00);
  expect_first_nan<std::uint16_t>("BF16", 0x7f80);
  const std::vector<std::byte> ones(8, std::byte{255});
  EXPECT_EQ(detail::tensor_file::first_nan({"/W", "I64", {1}, ones}), std::nullopt);
}

}  // namespace
}  // namespace dynet_like
