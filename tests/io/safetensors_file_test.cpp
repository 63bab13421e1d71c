// Safetensors files: layout, types, hostile files, and what cannot be written.
#include <ostream>

#include "tests/io/tensor_files.h"
#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// A file as it is on the disk: the header's length, the header, the data.
std::string file_text(const std::string& header, const std::string& data,
                      std::optional<std::uint64_t> length = {}) {
  const std::uint64_t count = length.value_or(header.size());
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(count >> (8 * i));
  return text + header + data;
}

SafetensorsFile parse_safetensors(const std::string& text) {
  return SafetensorsFile::parse(file_bytes(text), "hostile");
}

using SafetensorsTest = FolderTest;

TEST_F(SafetensorsTest, EveryTensorIsAlignedToItsElements) {
  const std::vector<std::uint8_t> small = {1, 2, 3};
  const std::vector<float> middle = {1.0f};
  const std::vector<double> wide = {2.0};
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"}) {
    const std::vector<TensorEntry> entries = {{name, "U8", {3}, bytes_of(small)},
                                              {"f", "F32", {1}, bytes_of(middle)},
                                              {"d", "F64", {1}, bytes_of(wide)}};
    write_safetensors(path(), entries);
    EXPECT_EQ(static_cast<unsigned char>(contents()[0]) % 8, 0);
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

TEST_F(SafetensorsTest, DamageIsSaid) {
  const std::vector<float> values = {1, 2};
  write_safetensors(path(), std::vector{TensorEntry{"x", "F32", {2}, bytes_of(values)}},
                    {{"epoch", "3"}});
  const std::string good = contents();
  const auto expect_damaged = [&](const std::string& text, const std::string& part) {
    expect_file_error([&] { SafetensorsFile::read(write(text)); }, 0, 0, part);
    expect_file_error([&] { parse_safetensors(text); }, 0, 0, part);
  };
  for (const auto& [place, part] :
       {std::pair(good.size() - 1, "need data with the checksum "),
        {good.size() - 1, ": the file is damaged"},
        {good.find("\"3\"") + 1, "need a header with the checksum "},
        {good.find("header_crc32"), "need both dynet_like.header_crc32 and"},
        {good.find("data_crc32"), "need both dynet_like.header_crc32 and"}}) {
    std::string text = good;
    text[place] = static_cast<char>(text[place] ^ 1);
    expect_damaged(text, part);
  }
  // Another program has written the same header with spaces.
  std::string spaced = good;
  spaced.insert(spaced.find(':', spaced.find("header_crc32")) + 1, 8, ' ');
  spaced[0] = static_cast<char>(spaced[0] + 8);
  expect_damaged(spaced,
                 "need dynet_like.header_crc32 as this library writes it; got it in another form: "
                 "the file is damaged (a program ");
  // The same bytes of a writer that knows no checksums: spaces take their place.
  std::string without = good;
  const std::size_t begin = without.find("\"__metadata__\""), end = without.find("},", begin) + 2;
  without.replace(begin, end - begin, end - begin, ' ');
  EXPECT_EQ(values_of<float>(*SafetensorsFile::read(write(without)).find("x")), values);
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

}  // namespace
}  // namespace dynet_like
