// Models as safetensors files and as numpy's arrays: layout, refusals that change nothing, reports,
// and single tensors.
#include "dynet_like/io/tensor_file.h"
#include "tests/io/small_model.h"
#include "tests/io/tensor_files.h"
#include "tests/support/damaged_files.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;
using Shape = std::vector<std::uint64_t>;

class ModelFileTest : public FolderTest, public ::testing::WithParamInterface<TensorFormat> {
 protected:
  const TensorFormat& format_ = GetParam();
  const std::string file_ = path("model") + format_.suffix;

  void load(const ParameterCollection& model, ExtraTensors extra = ExtraTensors::refuse) const {
    format_.load(file_, model, extra);
  }
  /// What is thrown, behind the name of the file. The model has not changed then.
  std::string refused(const ParameterCollection& model) const {
    const std::vector<std::byte> before = bytes_of(model);
    const std::vector<std::uint64_t> versions = versions_of(model);
    const std::string message = message_of<FileError>([&] { load(model); });
    EXPECT_TRUE(bytes_of(model) == before);
    EXPECT_EQ(versions_of(model), versions);
    const std::string prefix = file_ + ": [load] need ";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.substr(std::min(prefix.size(), message.size()));
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, ModelFileTest, ::testing::ValuesIn(tensor_formats()),
                         [](const auto& info) { return info.param.suffix + 1; });

TEST_P(ModelFileTest, ParametersComeBack) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const SmallModel saved(1, dtype), loaded(2, dtype);
    saved.matrix.values().set(3, -0.0);
    saved.matrix.values().set(4, std::numeric_limits<double>::infinity());
    format_.save(file_, saved.all);
    EXPECT_TRUE(bytes_of(loaded.all) != bytes_of(saved.all));
    std::vector<std::uint64_t> versions = versions_of(loaded.all);
    load(loaded.all);
    EXPECT_TRUE(bytes_of(loaded.all) == bytes_of(saved.all));
    for (std::uint64_t& version : versions) ++version;
    EXPECT_EQ(versions_of(loaded.all), versions);
  }
}

TEST_P(ModelFileTest, ElementsAreRowMajorAndRowsOfTablesComeFirst) {
  ParameterCollection model;
  const auto numbered = [](unsigned n) {
    Floats values(n);
    std::iota(values.begin(), values.end(), 0.0f);
    return ParameterInitFromVector(values);
  };
  model.add_parameters({2, 3}, numbered(6), "W");
  model.add_parameters({2, 1}, numbered(2), "column");
  model.add_parameters({2, 3, 2}, numbered(12), "cube");
  model.add_lookup_parameters(3, {2}, numbered(6), "words");
  model.add_lookup_parameters(2, {2, 3}, numbered(12), "matrices");
  format_.save(file_, model);
  const auto file = format_.read(file_);
  const auto expect = [&](const char* name, const Shape& shape, const Floats& values) {
    const TensorEntry* entry = file->find(name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(entry->dtype, "F32");
    EXPECT_EQ(entry->shape, shape) << name;
    EXPECT_EQ(values_of<float>(*entry), values) << name;
  };
  EXPECT_EQ(file->entries().size(), 5u);
  expect("/W", {2, 3}, {0, 2, 4, 1, 3, 5});
  expect("/column", {2, 1}, {0, 1});
  expect("/cube", {2, 3, 2}, {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
  expect("/words", {3, 2}, {0, 1, 2, 3, 4, 5});
  expect("/matrices", {2, 2, 3}, {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
}

TEST_P(ModelFileTest, ASubcollectionCanBeSavedAlone) {
  const SmallModel saved(1), loaded(2);
  format_.save(file_, saved.encoder);
  EXPECT_EQ(format_.read(file_)->entries().size(), 2u);
  format_.save(file_, saved.all);
  EXPECT_THROW(load(loaded.encoder), FileError);
  load(loaded.encoder, ExtraTensors::ignore);
  EXPECT_TRUE(bytes_of(loaded.encoder) == bytes_of(saved.encoder));
  EXPECT_TRUE(bytes_of(loaded.bias.get_storage()) != bytes_of(saved.bias.get_storage()));
}

TEST_P(ModelFileTest, WhatDoesNotFitChangesNothing) {
  using Part = std::pair<const char*, Dim>;
  const auto model_of = [](const std::vector<Part>& parts, DType dtype = DType::f32) {
    ParameterCollection model(2, dtype);
    for (const auto& [name, dim] : parts) model.add_parameters(dim, name);
    return model;
  };
  const ParameterCollection model = model_of({{"a", {2}}, {"W", {2, 3}}});
  std::vector<Part> more = {{"a", {2}}, {"W", {2, 3}}};
  for (int i = 0; i < 7; ++i) more.push_back({"x", {1}});
  const std::vector<std::pair<ParameterCollection, const char*>> cases = {
      {model_of({{"a", {2}}}), "tensors named \"/W\"; got 1 other"},
      {model_of({{"V", {2}}}),
       "tensors named \"/a\", \"/W\"; got 1 other, 1 of them not asked for, the only one is "
       "\"/V\""},
      {model_of({{"a", {2}}, {"W", {3, 2}}}), "F32 [2, 3] for \"/W\"; got F32 [3, 2]"},
      {model_of({{"a", {2}}, {"W", {2, 3, 1}}}), "F32 [2, 3] for \"/W\"; got F32 [2, 3, 1]"},
      {model_of({{"a", {2}}, {"W", {2, 3}}}, DType::f64), "F32 [2] for \"/a\"; got F64 [2]"},
      {model_of(more),
       "no tensors but the collection's; got \"/x\", \"/x_1\", \"/x_2\", \"/x_3\", \"/x_4\" and 2 "
       "more"}};
  for (const auto& [other, message] : cases) {
    format_.save(file_, other);
    EXPECT_EQ(refused(model), message);
  }
  format_.save(file_, model);
  EXPECT_EQ(refused(model_of({{"a", {2}}, {"W", {2, 3}}}, DType::f64)),
            "F64 [2] for \"/a\"; got F32 [2]");
}

TEST_P(ModelFileTest, NoDamageChangesWhatIsRead) {
  format_.save(file_, SmallModel(1).all);
  const bool has_checksums = std::string(format_.suffix) == ".safetensors";
  const Damaged damaged = expect_damage_is_seen(file_, [&](const std::string&) {
    const SmallModel model(2);
    const std::vector<std::byte> before = bytes_of(model.all);
    try {
      load(model.all);
    } catch (const FileError&) {
      EXPECT_TRUE(bytes_of(model.all) == before);
      throw;
    }
    return bytes_of(model.all);
  });
  if (has_checksums) {
    EXPECT_EQ(damaged.read, 0u);
  }
}

TEST_P(ModelFileTest, OneTensorIsReadIntoAParameterOfAnyName) {
  const SmallModel saved(1);
  format_.save(file_, saved.all);
  const auto file = format_.read(file_);
  ParameterCollection model(2);
  const Parameter matrix = model.add_parameters({2, 3});
  const LookupParameter table = model.add_lookup_parameters(60, {3}),
                        small = model.add_lookup_parameters(6, {3});
  load_parameter(*file, "/W", matrix);
  load_parameter(*file, "/words", table);
  EXPECT_EQ(as_vector(matrix.values()), as_vector(saved.matrix.values()));
  EXPECT_EQ(as_vector(table.all_values()), as_vector(saved.words.all_values()));
  const Floats before = as_vector(small.all_values());
  EXPECT_TRUE(mentions(message_of<FileError>([&] { load_parameter(*file, "/words", small); }),
                       "need F32 [6, 3] for \"/words\"; got F32 [60, 3]"));
  EXPECT_THROW(load_parameter(*file, "/word", table), FileError);
  EXPECT_THROW(load_parameter(*file, "/words", LookupParameter()), UsageError);
  EXPECT_THROW(load_parameter(*file, "/W", Parameter()), UsageError);
  EXPECT_EQ(as_vector(small.all_values()), before);
}

TEST_P(ModelFileTest, AMistypedNameGetsTheNearestOfAll) {
  ParameterCollection saved;
  for (int i = 0; i < 100; ++i) {
    saved.add_subcollection("layer_" + std::to_string(i)).add_parameters({1}, "W");
  }
  format_.save(file_, saved);
  const Parameter one = ParameterCollection().add_parameters({1}, "one");
  EXPECT_EQ(
      message_of<FileError>([&] { load_parameter(*format_.read(file_), "/layer_77/V", one); }),
      file_ +
          ": [load] need tensors named \"/layer_77/V\"; got 100 others, 100 of them not asked for, "
          "the nearest are \"/layer_77/W\", \"/layer_7/W\", \"/layer_17/W\"");
}

// A model that has changed: the file's values are 1, but for a row, and today's are 2.
TEST_P(ModelFileTest, AReportSaysWhatIsMissingLeftOverAndOther) {
  const ParameterInitConst one(1), two(2);
  ParameterCollection saved;
  saved.add_lookup_parameters(3, {2}, one, "words").initialize(1, {5, 6});
  saved.add_parameters({2, 3}, one, "W");
  saved.add_parameters({2}, one, "b");
  saved.add_parameters({4}, one, "old");
  format_.save(file_, saved);
  const auto file = format_.read(file_);
  const auto today = [&](unsigned rows, DType dtype = DType::f32) {
    ParameterCollection model(1, dtype);
    model.add_parameters({1}, two, "new");
    model.add_parameters({2}, two, "b");
    model.add_parameters({3, 2}, two, "W");
    model.add_lookup_parameters(rows, {2}, two, "words");
    return model;
  };
  const ParameterCollection model = today(3);
  const LoadReport report = load_matching(*file, model);
  EXPECT_EQ(report.loaded, (Names{"/b", "/words"}));
  EXPECT_FALSE(report.is_complete());
  EXPECT_EQ(report.text(),
            "loaded 2 parameters\nnot in the file: \"/new\"\nonly in the file: \"/old\"\n"
            "other in the file: \"/W\", F32 [2, 3] for F32 [3, 2]\n");
  EXPECT_EQ(values_of(model), (Floats{2, 1, 1, 2, 2, 2, 2, 2, 2, 1, 1, 5, 6, 1, 1}));
  const ParameterCollection larger = today(4), doubles = today(3, DType::f64);
  EXPECT_EQ(load_matching(*file, larger).mismatched.back().wanted, "F32 [4, 2]");
  EXPECT_EQ(load_matching(*file, doubles).text(),
            "loaded 0 parameters\nnot in the file: \"/new\"\nonly in the file: \"/old\"\n"
            "other in the file: \"/b\", F32 [2] for F64 [2]\n"
            "other in the file: \"/W\", F32 [2, 3] for F64 [3, 2]\n"
            "other in the file: \"/words\", F32 [3, 2] for F64 [3, 2]\n");
  const LoadReport complete = load_matching(*file, saved);
  EXPECT_TRUE(complete.is_complete()) << complete.text();
  EXPECT_EQ(complete.loaded.size(), 4u);
  EXPECT_THROW(load_matching(path("none"), model), FileError);
}

using HalvesTest = FolderTest;

// Numbers of 16 bits in the place of the parameters' own: all of them, in both types.
TEST_F(HalvesTest, BecomeFloatsAndDoubles) {
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
      write_safetensors(path(), entries);
      load_parameters(path(), model);
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
    write_safetensors(path(), other);
    EXPECT_NE(
        message_of<FileError>([&] { load_parameters(path(), model); }).find("got F16 [256, 1"),
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

TEST(NaNTest, TheFirstIsFoundInEveryType) {
  expect_first_nan<std::uint64_t>("F64", 0x7ff0000000000000);
  expect_first_nan<std::uint32_t>("F32", 0x7f800000);
  expect_first_nan<std::uint16_t>("F16", 0x7c00);
  expect_first_nan<std::uint16_t>("BF16", 0x7f80);
  const std::vector<std::byte> ones(8, std::byte{255});
  EXPECT_EQ(detail::tensor_file::first_nan({"/W", "I64", {1}, ones}), std::nullopt);
}

}  // namespace
}  // namespace dynet_like
