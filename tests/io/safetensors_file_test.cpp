// Safetensors files: round trips, the reference implementation, hostile files, saves that fail.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ostream>

#include "dynet_like/io/safetensors.h"
#include "tests/io/tensor_bytes.h"
#include "tests/support/precompiled.h"
#include "tests/support/python.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;

// A file as it is on the disk: the header's length, the header, the data.
std::string file_text(const std::string& header, const std::string& data,
                      std::optional<std::uint64_t> length = {}) {
  const std::uint64_t count = length.value_or(header.size());
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(count >> (8 * i));
  return text + header + data;
}

SafetensorsFile parse_safetensors(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return SafetensorsFile::parse({bytes.begin(), bytes.end()}, "hostile");
}

using SafetensorsTest = FolderTest;

TEST_F(SafetensorsTest, WhatIsWrittenIsRead) {
  const std::vector<float> matrix = {0.0f, -0.0f, 1.5f, HUGE_VALF, 0x1p-149f, -3.0f};
  const std::vector<double> vector = {1e300, -2.0};
  const std::vector<std::uint8_t> small = {1, 2, 3};
  const std::vector<std::int64_t> scalar = {-7};
  const std::vector<TensorEntry> entries = {
      {"small \"quoted\" \xC3\xA4/\n", "U8", {3}, bytes_of(small)},
      {"matrix", std::string(safetensors_name(DType::f32)), {2, 3}, bytes_of(matrix)},
      {"vector", std::string(safetensors_name(DType::f64)), {2}, bytes_of(vector)},
      {"scalar", "I64", {}, bytes_of(scalar)},
      {"empty", "F32", {0, 5}, {}},
  };
  const std::map<std::string, std::string> metadata = {{"format", "test"}, {"", "\t\\"}};
  write_safetensors(path(), entries, metadata);

  SafetensorsFile loaded = SafetensorsFile::read(path());
  const SafetensorsFile file = std::move(loaded);  // the entries must survive a move
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.entries().size(), entries.size());
  for (const TensorEntry& entry : entries) {
    const TensorEntry* found = file.find(entry.name);
    ASSERT_NE(found, nullptr) << entry.name;
    EXPECT_EQ(found->name, entry.name);
    EXPECT_EQ(found->dtype, entry.dtype);
    EXPECT_EQ(found->shape, entry.shape);
    EXPECT_EQ(values_of<std::byte>(*found), values_of<std::byte>(entry)) << entry.name;
  }
  EXPECT_EQ(file.find("other"), nullptr);
  EXPECT_EQ(files(), 1);
}

TEST_F(SafetensorsTest, EveryTensorIsAlignedToItsElements) {
  const std::vector<std::uint8_t> small = {1, 2, 3};
  const std::vector<float> middle = {1.0f};
  const std::vector<double> wide = {2.0};
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"}) {
    const std::vector<TensorEntry> entries = {{name, "U8", {3}, bytes_of(small)},
                                              {"f", "F32", {1}, bytes_of(middle)},
                                              {"d", "F64", {1}, bytes_of(wide)}};
    write_safetensors(path(), entries);
    const std::string text = contents();
    EXPECT_EQ(static_cast<unsigned char>(text[0]) % 8, 0);
    const SafetensorsFile file = SafetensorsFile::read(path());
    for (const TensorEntry& entry : file.entries()) {
      const auto address = reinterpret_cast<std::uintptr_t>(entry.bytes.data());
      EXPECT_EQ(address % safetensors_item_size(entry.dtype), 0u) << name << ' ' << entry.name;
    }
  }
}

TEST_F(SafetensorsTest, NoTensors) {
  write_safetensors(path(), {});
  const std::string text = contents();
  EXPECT_EQ(text.substr(8, 44), "{\"__metadata__\":{\"dynet_like.header_crc32\":\"");
  EXPECT_EQ(text.substr(60), "\",\"dynet_like.data_crc32\":\"00000000\"}}      ");
  EXPECT_TRUE(SafetensorsFile::read(path()).metadata().empty());
  EXPECT_TRUE(SafetensorsFile::read(path()).entries().empty());
}

TEST_F(SafetensorsTest, TheFormatsOwnExample) {
  const SafetensorsFile file = parse_safetensors(file_text(
      R"({"b":{"shape":[],"data_offsets":[4,6],"dtype":"F16"},"z":{"dtype":"U8","shape":[7,0],)"
      R"("data_offsets":[4,4]},"__metadata__":{"k":"v"},)"
      R"("a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}}  )",
      "aaaabb"));
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(file.entries()[1].name, "z");
  EXPECT_EQ(file.entries()[1].bytes.size(), 0u);
  EXPECT_EQ(values_of<char>(file.entries()[2]), (std::vector<char>{'b', 'b'}));
}

// What others write and the reference reads: keys that nobody knows, and metadata that are null.
TEST_F(SafetensorsTest, WhatIsNotKnownIsSkipped) {
  for (const char* more : {"\"stride\":[1,[2],{\"dtype\":\"F64\"}]", "\"n\":null", "\"n\":-1.5e3",
                           "\"n\":{}", "\"n\":\"dtype\",\"m\":true,\"o\":7", "\"n\":[],\"n\":[]"}) {
    const std::string description =
        std::string(R"({"dtype":"F32",)") + more + R"(,"shape":[2],"data_offsets":[0,8]})";
    const SafetensorsFile file = parse_safetensors(
        file_text("{\"__metadata__\":null,\"x\":" + description + "}", "12345678"));
    EXPECT_EQ(file.find("x")->shape, (std::vector<std::uint64_t>{2})) << more;
    EXPECT_EQ(file.find("x")->dtype, "F32");
    EXPECT_TRUE(file.metadata().empty());
  }
}

TEST_F(SafetensorsTest, AllTypesOfTheReference) {
  for (const auto& [dtype, bits] : {std::pair("BOOL", 8), {"F4", 4},      {"F6_E2M3", 6},
                                    {"F6_E3M2", 6},       {"U8", 8},      {"I8", 8},
                                    {"F8_E5M2", 8},       {"F8_E4M3", 8}, {"F8_E8M0", 8},
                                    {"I16", 16},          {"U16", 16},    {"F16", 16},
                                    {"BF16", 16},         {"I32", 32},    {"U32", 32},
                                    {"F32", 32},          {"C64", 64},    {"F64", 64},
                                    {"I64", 64},          {"U64", 64}}) {
    const std::vector<std::byte> bytes(static_cast<std::size_t>(bits), std::byte{7});
    const TensorEntry entry = {"x", dtype, {2, 4}, bytes};  // 8 elements
    write_safetensors(path(), std::span(&entry, 1));
    const SafetensorsFile file = SafetensorsFile::read(path());
    EXPECT_EQ(file.find("x")->dtype, dtype);
    EXPECT_EQ(values_of<std::byte>(*file.find("x")), bytes);
    EXPECT_EQ(safetensors_item_size(dtype), static_cast<std::size_t>(bits / 8));
  }
}

struct Hostile {
  const char* name;
  std::string text;
  const char* message;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

std::string tensor(const std::string& shape, const std::string& offsets,
                   const std::string& dtype = "\"F32\"") {
  return "{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::string one(const std::string& description, const std::string& data = "12345678") {
  return file_text("{\"x\":" + description + "}", data);
}

std::string two(const std::string& first, const std::string& second) {
  return file_text("{\"x\":" + tensor("[1]", first) + ",\"y\":" + tensor("[1]", second) + "}",
                   "12345678");
}

std::vector<Hostile> hostile_files() {
  const std::string good = tensor("[2]", "[0,8]");
  const std::string deep(100000, '[');
  return {
      {"Empty", "", "need at least 8 bytes; got 0"},
      {"ShortLength", "1234567", "need at least 8 bytes; got 7"},
      {"NoHeader", file_text("", ""), "need a header that begins with {; got none"},
      {"LengthBeyondFile", file_text("{}", "", 3), "at most 2 bytes in a file of 10; got 3"},
      {"HugeLength", file_text("{}", "", ~std::uint64_t{0}), "got \"\\xff\\xff"},
      {"JustTooLong", file_text("{}", "", 100'000'001), "got \"\\x01\\xe1\\xf5\\x05"},
      {"Text", "#Parameter# /W {2} 33 ZERO_GRAD\n",
       "need a safetensors file, which begins with the length of its header, at most 100000000; "
       "got \"#Paramet\", which looks like another format: load_text_model reads those of DyNet, "
       "load_npz those of numpy"},
      {"NotAnObject", file_text("[]", ""), "begins with {; got \"[\""},
      {"SpaceFirst", file_text(" {}", ""), "begins with {; got \" \""},
      {"ByteOrderMark", file_text("\xEF\xBB\xBF{}", ""), "begins with {; got \"\\xef\""},
      {"Unterminated", file_text("{", ""), "need a header of valid JSON"},
      {"TwoValues", file_text("{}{}", ""), "need a header of valid JSON"},
      {"HiddenByZero", file_text(std::string("{}\0{\"", 5), ""), "got a zero byte"},
      {"Comment", file_text("{}//", ""), "need a header of valid JSON"},
      {"BadEncoding", file_text("{\"\xFF\":" + good + "}", "12345678"), "valid JSON"},
      {"LoneSurrogate", file_text("{\"\\ud800\":" + good + "}", "12345678"), "valid JSON"},
      {"DeepArray", file_text("{\"x\":" + deep, ""), "an object for \"x\"; got an array"},
      {"DeepShape", one(tensor(deep, "[0,8]")), "a shape of at most 32 integers"},
      {"DeepObject", one("{\"dtype\":{\"a\":{}}}"), "text as dtype of \"x\"; got an object"},
      {"DeepMetadata", file_text("{\"__metadata__\":{\"k\":{}}}", ""), "\"k\"; got an object"},
      {"MetadataNumber", file_text("{\"__metadata__\":{\"k\":1}}", ""), "\"k\"; got 1"},
      {"MetadataList", file_text("{\"__metadata__\":[]}", ""), "need an object"},
      {"MetadataKeyTwice", file_text(R"({"__metadata__":{"k":"","k":""}})", ""), "\"k\" twice"},
      {"MetadataTwice", file_text(R"({"__metadata__":{},"__metadata__":{}})", ""), "twice"},
      {"NameTwice", file_text("{\"x\":" + good + ",\"x\":" + good + "}", "12345678"),
       "need unique names; got \"x\" twice"},
      {"NullTensor", one("null"), "need an object for \"x\"; got null"},
      {"EmptyTensor", one("{}"), "need dtype, shape and data_offsets of \"x\""},
      {"NoOffsets", one(R"({"dtype":"F32","shape":[2]})"), "got only some of them"},
      {"OtherKeyAlone", one(R"({"stride":[1]})"), "got only some of them"},
      {"OtherKeyOpen", one(R"({"stride":[{"a":[1,)"), "need a header of valid JSON"},
      {"HalfAByte", one(tensor("[3]", "[0,1]", "\"F4\""), "1"),
       "need a shape of \"x\" whose size is a whole number of bytes below 2^64; got F4 [3]"},
      {"NestedMetadata", file_text("{\"__metadata__\":null,\"__metadata__\":{}}", ""), "twice"},
      {"KeyTwice", one(R"({"dtype":"F32","dtype":"F32"})"), "got \"dtype\" twice"},
      {"UnknownDtype", one(tensor("[2]", "[0,8]", "\"F33\"")), "dtype of \"x\"; got \"F33\""},
      {"DtypeNumber", one(tensor("[2]", "[0,8]", "32")), "text as dtype of \"x\"; got 32"},
      {"DtypeArray", one(tensor("[2]", "[0,8]", "[]")), "text as dtype of \"x\"; got an array"},
      {"ShapeText", one(tensor("\"2\"", "[0,8]")), "need a shape"},
      {"ShapeNegative", one(tensor("[-2]", "[0,8]")), "need a shape of at most 32 integers from 0"},
      {"ShapeFraction", one(tensor("[2.0]", "[0,8]")), "got \"2.0\""},
      {"ShapeTooLarge", one(tensor("[18446744073709551616]", "[0,8]")), "need a shape"},
      {"ShapeBool", one(tensor("[true]", "[0,8]")), "got true"},
      {"ShapeNested", one(tensor("[[2]]", "[0,8]")), "got an array"},
      {"ShapeOverflow", one(tensor("[4294967296,4294967296]", "[0,0]"), ""), "below 2^64"},
      {"ShapeOverflowToFit", one(tensor("[4611686018427387906]", "[0,8]")), "below 2^64"},
      {"ShapeTooLong",
       one(tensor("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                  "1,1]",
                  "[0,4]")),
       "got one number more"},
      {"OneOffset", one(tensor("[2]", "[0]")), "got 1 number"},
      {"ThreeOffsets", one(tensor("[2]", "[0,8,8]")), "data_offsets of two integers"},
      {"OffsetsFall", one(tensor("[2]", "[8,0]")), "end by byte 8; got [8, 0]"},
      {"OffsetsBeyond", one(tensor("[3]", "[0,12]")), "end by byte 8; got [0, 12]"},
      {"OffsetsHuge", one(tensor("[2]", "[18446744073709551608,18446744073709551615]")), "rise"},
      {"WrongSize", one(tensor("[1]", "[0,8]")), "need 4 bytes for F32 [1] of \"x\"; got 8 bytes"},
      {"Truncated", one(good, "1234567"), "end by byte 7; got [0, 8]"},
      {"Trailing", one(good, "123456789"), "need 8 bytes of data behind the header; got 9"},
      {"DataWithoutTensor", file_text("{}", "1"), "need 0 bytes of data behind the header; got 1"},
      {"HoleFirst", one(tensor("[1]", "[4,8]")), "\"x\" at byte 0; got byte 4"},
      {"HoleBetween", two("[0,4]", "[4,8]") + "x", "got 9"},
      {"Overlap", two("[0,4]", "[0,4]"), "\"y\" at byte 4; got byte 0"},
      {"PartialOverlap", two("[0,4]", "[2,6]"), "\"y\" at byte 4; got byte 2"},
      {"LongName", file_text("{\"" + std::string(5000, 'n') + "\":1}", ""), "nnn...\"; got 1"},
      {"ControlName", file_text("{\"\\u001b[2J\":1}", ""), "\"\\x1b[2J\"; got 1"},
  };
}

class HostileTest : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileTest, IsRefused) {
  try {
    parse_safetensors(GetParam().text);
    FAIL() << "accepted";
  } catch (const FileError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("hostile: [safetensors] need "), std::string::npos) << message;
    EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
    EXPECT_LT(message.size(), 400u) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostileTest, ::testing::ValuesIn(hostile_files()),
                         [](const auto& test) { return test.param.name; });

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  const std::string text = one(tensor("[2]", "[0,8]"));
  EXPECT_NO_THROW(parse_safetensors(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_THROW(parse_safetensors(text.substr(0, size)), FileError) << size;
    std::ofstream(path(), std::ios::binary) << text.substr(0, size);
    EXPECT_THROW(SafetensorsFile::read(path()), FileError) << size;
  }
}

TEST_F(SafetensorsTest, ReadingNeedsARegularFile) {
  EXPECT_THROW(SafetensorsFile::read(path("missing")), FileError);
  EXPECT_THROW(SafetensorsFile::read(folder()), FileError);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THROW(SafetensorsFile::read(path("pipe")), FileError);
}

// A file with holes looks large and costs nothing: its length must not be believed too early.
TEST_F(SafetensorsTest, AHugeFileIsRefusedBeforeItIsRead) {
  std::ofstream(path(), std::ios::binary) << file_text("{}", "");
  fs::resize_file(path(), std::uintmax_t{1} << 40);
  EXPECT_THROW(SafetensorsFile::read(path()), FileError);
}

TEST_F(SafetensorsTest, WritingRefusesWhatCouldNotBeRead) {
  const std::vector<float> values = {1.0f, 2.0f};
  const auto bytes = bytes_of(values);
  const std::vector<std::vector<TensorEntry>> bad = {
      {{"x", "F32", {2}, bytes}, {"x", "F32", {2}, bytes}},
      {{"x", "F33", {2}, bytes}},
      {{"x", "F32", {3}, bytes}},
      {{"x", "F32", {1ull << 62, 4}, {}}},
      {{"x", "F32", std::vector<std::uint64_t>(33, 1), bytes.first(4)}},
      {{"__metadata__", "F32", {2}, bytes}},
      {{"\xFF", "F32", {2}, bytes}},
      {{"x", "F4", {5}, bytes.first(2)}},
  };
  for (const auto& entries : bad) EXPECT_THROW(write_safetensors(path(), entries), UsageError);
  EXPECT_THROW(write_safetensors(path(), {}, {{"k", "\xC3"}}), UsageError);
  EXPECT_THROW(write_safetensors(path(), {}, {{"dynet_like.data_crc32", "0"}}), UsageError);
  EXPECT_EQ(files(), 0);
}

// The reference implementation, where Python has it.
using ReferenceTest = PythonTest;

TEST_F(ReferenceTest, ReadsWhatIsWrittenHere) {
  const std::vector<float> matrix = {0.0f, 0.25f, 0.5f, 0.75f, 1.0f, 1.25f};
  const std::vector<double> vector = {1.0, -3.5};
  const std::vector<std::uint8_t> small = {1, 2, 3};
  const std::vector<TensorEntry> entries = {{"small", "U8", {3}, bytes_of(small)},
                                            {"matrix", "F32", {2, 3}, bytes_of(matrix)},
                                            {"vector", "F64", {2}, bytes_of(vector)},
                                            {"none", "F32", {0, 2}, {}}};
  write_safetensors(path("model.safetensors"), entries, {{"by", "C++"}});
  const std::string program = R"(import json, numpy, safetensors
with safetensors.safe_open("model.safetensors", framework="numpy") as file:
    tensors = {}
    for name in sorted(file.keys()):
        tensor = file.get_tensor(name)
        tensors[name] = {"dtype": str(tensor.dtype), "shape": list(tensor.shape),
                         "sum": float(tensor.sum(dtype=numpy.float64))}
    metadata = {key: text for key, text in file.metadata().items() if "dynet_like." not in key}
    print(json.dumps({"metadata": metadata, "checksums": len(file.metadata()) - 1, "tensors": tensors}, sort_keys=True))
)";
  EXPECT_EQ(run(program),
            "{\"checksums\": 2, \"metadata\": {\"by\": \"C++\"}, \"tensors\": {"
            "\"matrix\": {\"dtype\": \"float32\", \"shape\": [2, 3], \"sum\": 3.75}, "
            "\"none\": {\"dtype\": \"float32\", \"shape\": [0, 2], \"sum\": 0.0}, "
            "\"small\": {\"dtype\": \"uint8\", \"shape\": [3], \"sum\": 6.0}, "
            "\"vector\": {\"dtype\": \"float64\", \"shape\": [2], \"sum\": -2.5}}}\n");
}

TEST_F(ReferenceTest, WritesWhatIsReadHere) {
  run(R"(import numpy, safetensors.numpy
tensors = {
    "matrix": numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4,
    "vector": numpy.array([1e300, -0.5], dtype=numpy.float64),
    "scalar": numpy.array(7, dtype=numpy.int64),
    "empty": numpy.zeros((0, 4), dtype=numpy.float32),
    "bytes": numpy.array([1, 2, 3], dtype=numpy.uint8),
}
metadata = {"by": "Python", "n\u00e4me": "\u4e2d"}
safetensors.numpy.save_file(tensors, "python.safetensors", metadata=metadata)
)");
  const SafetensorsFile file = SafetensorsFile::read(path("python.safetensors"));
  ASSERT_EQ(file.entries().size(), 5u);
  EXPECT_EQ(file.metadata().at("by"), "Python");
  EXPECT_EQ(file.metadata().at("n\xC3\xA4me"), "\xE4\xB8\xAD");
  const TensorEntry& matrix = *file.find("matrix");
  EXPECT_EQ(matrix.dtype, "F32");
  EXPECT_EQ(matrix.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(values_of<float>(matrix), (std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1, 1.25f}));
  EXPECT_EQ(values_of<double>(*file.find("vector")), (std::vector<double>{1e300, -0.5}));
  EXPECT_EQ(values_of<std::int64_t>(*file.find("scalar")), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(file.find("empty")->shape, (std::vector<std::uint64_t>{0, 4}));
  EXPECT_EQ(values_of<std::uint8_t>(*file.find("bytes")), (std::vector<std::uint8_t>{1, 2, 3}));
}

}  // namespace
}  // namespace dynet_like
