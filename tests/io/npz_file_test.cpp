// Files of numpy: headers, texts, damaged and hostile files, and what numpy writes.
#include "dynet_like/io/npz.h"

#include <set>

#include "tests/io/tensor_files.h"
#include "tests/support/file_errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/python.h"
#include "tests/support/zip_archive.h"

namespace dynet_like {
namespace {

NumpyFile parse(const std::string& text, std::uint64_t limit = kMaxInflatedBytes) {
  return NumpyFile::parse(file_bytes(text), "hostile", limit);
}

/// An array of version 1.
std::string npy(const std::string& header, const std::string& data) {
  return "\x93NUMPY" + little_endian(1, 2) + little_endian(header.size(), 2) + header + data;
}

std::string npy(const std::string& type, const std::string& shape, const std::string& data,
                const char* column_major = "False") {
  return npy(
      "{'descr': '" + type + "', 'fortran_order': " + column_major + ", 'shape': " + shape + "}\n",
      data);
}

std::string replaced(std::string text, std::size_t place, const std::string& by) {
  return text.replace(place, by.size(), by);
}

std::string archive(const std::vector<ZipMember>& members) {
  const std::vector<std::byte> bytes = archive_of(members);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::vector<float> kNumbers = {0.0f, -0.0f, 1.5f, HUGE_VALF, 0x1p-149f, -3.0f};

TensorEntry one_array() { return {"matrix", "F32", {2, 3}, bytes_of(kNumbers)}; }

class NpzTest : public PythonTest {
 protected:
  void SetUp() override {}  // needs no Python

  std::string written(std::span<const TensorEntry> entries) const {
    write_npz(path("written.npz"), entries);
    return contents("written.npz");
  }
};

TEST_F(NpzTest, OneArrayHasAFileOfItsOwn) {
  write_npy(path("one.npy"), one_array());
  const NumpyFile file = NumpyFile::read(path("one.npy"));
  ASSERT_EQ(file.entries().size(), 1u);
  EXPECT_EQ(file.entries()[0].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(values_of<std::byte>(*file.find("")), values_of<std::byte>(one_array()));
}

TEST_F(NpzTest, WritingRefusesWhatCouldNotBeRead) {
  const auto refuse = [&](TensorEntry entry, const std::string& part) {
    const std::vector<TensorEntry> entries = {one_array(), std::move(entry)};
    const std::string message =
        message_of<UsageError>([&] { write_npz(path("bad.npz"), entries); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(path("bad.npz")));
  };
  const auto bytes = bytes_of(kNumbers);
  refuse({"", "F32", {6}, bytes},
         "need unique names of 1 to 65531 bytes, none of them 0; got \"\"");
  refuse({"matrix", "F32", {6}, bytes}, "got \"matrix\" twice");
  refuse({std::string("a\0b", 3), "F32", {6}, bytes}, "none of them 0");
  refuse({std::string(65532, 'a'), "F32", {6}, bytes}, "need unique names of 1 to 65531 bytes");
  refuse({"a", "BF16", {12}, bytes}, "need a type that numpy has for \"a\"; got \"BF16\"");
  refuse({"a", "F32", {7}, bytes}, "need the bytes of F32 (7)");
  refuse({"a", "F32", std::vector<std::uint64_t>(33, 1), bytes}, "at most 32 dimensions");
  EXPECT_THROW(write_npy(path("bad.npy"), {"", "F32", {5}, bytes}), UsageError);
  EXPECT_THROW(write_npz(path("no/such/folder.npz"), {}), FileError);
}

TEST_F(NpzTest, TextsAndOtherElements) {
  const auto file = [](const char* type, const char* shape, const std::string& data,
                       const char* column_major = "False") {
    return parse(npy(type, shape, data, column_major));
  };
  const auto wide = [](const std::u32string& text) {
    std::string bytes;
    for (const char32_t c : text) bytes += little_endian(c, 4);
    return bytes;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(file("<U2", "(3,)", wide(std::u32string(U"ab\u00e9\0\0\0", 6))).texts(""),
            (Texts{"ab", "\u00e9", ""}));
  EXPECT_EQ(file("<U4", "(1, 1)", wide(U"\u007f\u07ff\uffff\U0010ffff")).texts(""),
            (Texts{"\u007f\u07ff\uffff\U0010ffff"}));
  EXPECT_EQ(file("<U3", "(1,)", little_endian(0xd800, 4) + little_endian(0x110000, 4) + "\1\1\1\1")
                .texts(""),
            (Texts{"\ufffd\ufffd\ufffd"}));
  EXPECT_EQ(file("|S3", "(2,)", std::string("a\0b\xff\0\0", 6)).texts(""),
            (Texts{std::string("a\0b", 3), "\xff"}));
  EXPECT_EQ(file("|S3", "(0,)", "").texts(""), Texts());
  EXPECT_EQ(file("|S1", "(2, 3)", "adbecf", "True").texts(""),
            (Texts{"a", "b", "c", "d", "e", "f"}));
  EXPECT_EQ(file("|S3", "(2, 2)", "abcghidefjkl", "True").texts(""),
            (Texts{"abc", "def", "ghi", "jkl"}));
  // What cannot be used does not stand in the way of what can.
  for (const char* type : {"|O", ">f4", "<c8", "<M8[s]", "<U0", "<U", "<U99999999999", "|S0"}) {
    const NumpyFile other = file(type, "(1000,)", "some bytes");
    EXPECT_EQ(other.find("")->dtype, type);
    EXPECT_EQ(other.find("")->bytes.size(), 10u);
    expect_file_error([&] { other.texts(""); }, 0, 0,
                      "need an array of texts named \"\"; got one of \"" + std::string(type));
  }
  const NumpyFile numbers = parse(written(std::vector{one_array()}));
  expect_file_error([&] { numbers.texts("matrx"); }, 0, 0,
                    "named \"matrx\"; got none, the only one is \"matrix\"");
}

// A header ends with a newline, and data begin at a multiple of 64 bytes, whatever is left to fill.
TEST_F(NpzTest, HeadersOfAnyLengthEndBeforeTheData) {
  std::set<std::size_t> filled;
  for (unsigned ones = 0; ones < 22; ++ones) {
    for (const std::uint64_t more : {1, 10, 100}) {  // a byte more each; a 1 takes three
      std::vector<std::uint64_t> shape(ones, 1);
      shape.insert(shape.end(), {0, more});  // 0, so that there are no elements
      write_npy(path("header.npy"), {"", "F32", shape, {}});
      const std::string bytes = contents("header.npy");
      const std::size_t blanks = bytes.size() - bytes.find('}') - 2;
      ASSERT_EQ(bytes.size() % 64, 0u);
      ASSERT_EQ(bytes.substr(bytes.find('}') + 1), std::string(blanks, ' ') + '\n');
      filled.insert(blanks);
      EXPECT_EQ(NumpyFile::read(path("header.npy")).entries()[0].shape, shape);
    }
  }
  EXPECT_EQ(filled.size(), 64u);  // from none to 63 blanks
}

TEST_F(NpzTest, HeadersOfArrays) {
  const std::string eight(8, '\1');
  using Shape = std::vector<std::uint64_t>;
  for (const auto& [text, shape] :
       {std::pair("(8,)", Shape{8}), {"(2,4)", {2, 4}}, {"( 2 , 2, 2, ) , ", {2, 2, 2}}}) {
    EXPECT_EQ(parse(npy("|u1", text, eight)).entries()[0].shape, shape);
  }
  EXPECT_EQ(parse(npy("{\"shape\":(), \"fortran_order\":True, \"descr\":\"<f8\"}", eight))
                .entries()[0]
                .dtype,
            "F64");
}

/// A file, and what the message must say.
struct Damaged {
  std::string bytes, message;
};

/// Arrays with 8 bytes of data, given by their headers.
std::vector<Damaged> damaged_arrays() {
  const std::string order = "'fortran_order': False, ", type = "'descr': '|u1', ",
                    sizes = "'shape': (8,), ", eight(8, '\1');
  std::string many;
  for (int i = 0; i < 33; ++i) many += "1, ";
  std::vector<Damaged> rows = {
      {"", "need \"{\" in the header of \"\"; got \"\""},
      {"{", "need text in quotes"},
      {"{'descr", "need text in quotes"},
      {"{'descr': '|u1'", "need \"}\""},
      {"{" + order + type + "}", "need the keys descr, fortran_order and shape"},
      {"{" + order + order + type + sizes + "}", "shape once"},
      {"{" + order + type + sizes + "'more': 1}", "once in the header of \"\"; got \"more\""},
      {"{" + order + type + sizes + "} x", "need nothing behind the dictionary"},
      {"{'fortran_order': 0, " + type + sizes + "}", "need True or False"},
      {"{'descr': '', " + order + sizes + "}", "need a type such as '<f4' or '<f8'"},
      {"{'descr': 'F64', " + order + "'shape': ()}", "need a type such as"},
      {"{'descr': [('a', '<f4')], " + order + sizes + "}", "need an array without named fields"},
      {"{'descr': '<U3', " + order + "'shape': ()}", "one of 8 bytes in the header of"},
      {"{'descr': '|S4', " + order + "'shape': (3,)}", "one of 8 bytes in the header of"},
      {"{'descr': '|S8', " + order + "'shape': (0,)}", "one of 8 bytes in the header of"},
      {"{'shape': 8, " + order + type + "}", "need \"(\""},
      {"{'shape': (-8,), " + order + type + "}", "need whole numbers below 2^64"},
      {"{'shape': (18446744073709551616,), " + order + type + "}", "need whole numbers"},
      {"{'shape': (8 8), " + order + type + "}", "need \")\""},
      {"{'shape': (7,), " + order + type + "}", "one of 8 bytes in the header of \"\"; got \"U8"},
      {"{'shape': (4294967296, 4294967296, 8), " + order + type + "}", "need a shape that is one"},
      {"{'shape': (" + many + "8), " + order + type + "}", "need at most 32 dimensions"}};
  for (Damaged& row : rows) row.bytes = npy(row.bytes, eight);
  const std::string good = npy("|u1", "(8,)", eight);
  rows.push_back({good + "x", "need a shape that is one of 9 bytes"});
  rows.push_back({replaced(good, 6, "\4"), "need version 1, 2 or 3"});
  rows.push_back({replaced(good, 8, "\xff\xff"), "need all that its length says"});
  return rows;
}

/// Archives: how a member is packed, what its directory says, and what numpy does not write.
std::vector<Damaged> damaged_archives() {
  const std::string array = npy("|u1", "(1,)", "A"), whole = archive({{"a.npy", array}});
  // A block that is stored: its last, 1 byte, inverted, and the byte.
  const std::string one = "\1\1" + std::string(1, '\0') + "\xfe\xff" + "A";
  const auto deflated = [&](const std::string& bytes, std::uint64_t size, std::uint32_t sum = 0) {
    return archive({{.name = "a.npy", .bytes = bytes, .method = 8, .size = size, .checksum = sum}});
  };
  const std::size_t entry = whole.find("PK\1\2"), end = whole.find("PK\5\6");
  const std::string libzip = "need a zip archive that is whole; got libzip's error ";
  return {
      {"", "need a file of numpy, .npz or .npy; got one that begins with \"\""},
      {"{\"a\":1}", "begins with \"{\"a\":1\""},
      {"PK", libzip},
      {whole + "x", libzip},
      {replaced(whole, 2, "X"), libzip},
      {replaced(whole, entry, "X"), libzip},
      {replaced(whole, entry + 20, "\xff\xff\xff\x7f\xff\xff\xff\x7f"), libzip},
      {replaced(whole, entry + 42, "\xff\xff\xff\x7f"), libzip},
      {replaced(whole, end + 8, "\xff\xff\xff\xff"), libzip},
      {replaced(whole, end + 12, "\xff\xff"), libzip},
      {archive({{"a.npy", array}, {"a.npy", array}}), libzip + "\"File already exists"},
      {archive({{"a.txt", "text"}}), "need arrays, whose names end in \".npy\"; got \"a.txt\""},
      {archive({{.name = "a.npy", .bytes = array, .method = 12}}),
       "need members that are stored or deflated; got method 12 of \"a.npy\""},
      {archive({{.name = "a.npy", .bytes = array, .size = 9}}),
       "of a size that 67 bytes hold; got 9"},
      {archive({{.name = "a.npy", .bytes = array, .checksum = 1}}),
       "need 67 bytes of \"a.npy\", with their checksum; got libzip's error \"CRC error"},
      {deflated(one, 1, 0xd3d99e8b), "numpy's magic bytes"},  // inflated, and whole
      {deflated(one, 1, 1), "need 1 byte of \"a.npy\", with their checksum; got libzip's error"},
      {deflated(one, 2), "need 2 bytes of \"a.npy\""},
      {deflated(one, 0), "need 0 bytes of \"a.npy\", with their checksum; got more"},
      {deflated(one.substr(0, 5), 1), "need 1 byte of"},
      {deflated("\7", 1), "need 1 byte of"},
      {deflated(one, 6 * 1032 + 1), "of a size that 6 bytes hold; got 6193"},
      {deflated(one, 6 * 1032), "need at most 6191 bytes more when all is inflated; got 6192 of"},
      {archive({{"b.npy", one, 8, 6000}, {"c.npy", one, 8, 192}}), "need 6000 bytes of \"b.npy\""},
  };
}

TEST_F(NpzTest, DamagedFilesAreRefused) {
  std::vector<Damaged> rows = damaged_arrays();
  for (Damaged& row : damaged_archives()) rows.push_back(std::move(row));
  for (const auto& [bytes, message] : rows) {
    const auto read = [&text = bytes] { parse(text, 6 * 1032 - 1); };
    expect_file_error(read, 0, 0, message);
  }
}

TEST_F(NpzTest, EveryBeginningOfAnArrayIsRefused) {
  const std::string array = npy("|u1", "(8,)", std::string(8, '\1'));
  EXPECT_EQ(parse(array).entries().size(), 1u);
  for (std::size_t size = 0; size < array.size(); ++size) {
    EXPECT_THROW(parse(array.substr(0, size)), FileError) << size;
  }
}

// So many that their number needs the variant Zip64 of the format.
TEST_F(NpzTest, ManyArrays) {
  constexpr std::size_t kCount = 65536;
  const std::vector<std::int64_t> number = {-7};
  std::vector<TensorEntry> entries;
  for (std::size_t i = 0; i < kCount; ++i) {
    entries.push_back({std::to_string(i), "I64", {}, bytes_of(number)});
  }
  const std::string bytes = written(entries);
  EXPECT_NE(bytes.find("PK\6\6"), bytes.npos);
  const NumpyFile file = parse(bytes);
  EXPECT_EQ(file.entries().size(), kCount);
  EXPECT_EQ(values_of<std::int64_t>(*file.find("65535")), number);

  PythonTest::SetUp();
  if (IsSkipped()) return;
  EXPECT_EQ(run("import numpy\nt = numpy.load('written.npz')\nprint(len(t), t['65535'])\n"),
            "65536 -7\n");
}

class NumpyTest : public PythonTest {};

TEST_F(NumpyTest, WritesOtherArraysThatAreReadHere) {
  run(R"(import numpy
rows = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
numpy.save("one.npy", numpy.asfortranarray(rows))
numpy.lib.format.write_array(open("two.npy", "wb"), rows, version=(2, 0))
numpy.savez("words.npz", numpy.array([{}, None]), big=rows.astype(">f4"),
            words=numpy.array(["a", "caf\u00e9", "", "\U0001f600"]), W=rows,
            table=numpy.asfortranarray([["a", "bc"], ["d", "e"]]), bytes=numpy.array([b"a", b"bcd"]))
numpy.savez("records.npz", numpy.zeros(2, dtype=[("a", "<f4")]))
)");
  std::vector<float> to_24(24);
  std::iota(to_24.begin(), to_24.end(), 0.0f);
  EXPECT_EQ(values_of<float>(NumpyFile::read(path("one.npy")).entries()[0]), to_24);
  EXPECT_EQ(values_of<float>(NumpyFile::read(path("two.npy")).entries()[0]), to_24);
  const NumpyFile words = NumpyFile::read(path("words.npz"));
  using Texts = std::vector<std::string>;
  EXPECT_EQ(words.texts("words"), (Texts{"a", "caf\u00e9", "", "\U0001f600"}));
  EXPECT_EQ(words.texts("table"), (Texts{"a", "bc", "d", "e"}));
  EXPECT_EQ(words.texts("bytes"), (Texts{"a", "bcd"}));
  EXPECT_EQ(values_of<float>(*words.find("W")), to_24);
  EXPECT_EQ(words.find("big")->dtype, ">f4");
  EXPECT_EQ(words.find("arr_0")->dtype, "|O");
  expect_file_error([&] { NumpyFile::read(path("records.npz")); }, 0, 0,
                    "need an array without named fields");
}

}  // namespace
}  // namespace dynet_like
