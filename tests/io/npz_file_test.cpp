// Files of numpy: round trips, what numpy itself reads and writes, large archives, hostile files.
#include "dynet_like/io/npz.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/io/zip.h"
#include "tests/io/tensor_bytes.h"
#include "tests/support/file_errors.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"

namespace dynet_like {
namespace {

NumpyFile parse(const std::string& text, std::uint64_t limit = kMaxInflatedBytes) {
  const auto bytes = std::as_bytes(std::span(text));
  return NumpyFile::parse({bytes.begin(), bytes.end()}, "hostile", limit);
}

void expect_refused(const std::string& text, const std::string& part) {
  expect_file_error([&] { parse(text); }, 0, 0, part);
}

/// An array of version 1.
std::string npy(const std::string& header, const std::string& data) {
  const std::size_t size = header.size();
  return "\x93NUMPY\1" + std::string(1, '\0') + static_cast<char>(size) +
         static_cast<char>(size >> 8) + header + data;
}

std::string replaced(std::string text, std::size_t place, const std::string& by) {
  return text.replace(place, by.size(), by);
}

std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (; bytes > 0; --bytes, number >>= 8) text += static_cast<char>(number);
  return text;
}

const std::vector<float> kMatrix = {0.0f,
                                    -0.0f,
                                    1.5f,
                                    std::numeric_limits<float>::infinity(),
                                    std::numeric_limits<float>::denorm_min(),
                                    -3.0f};
const std::vector<double> kVector = {1e300, -2.0};
const std::vector<std::int64_t> kScalar = {-7};

std::vector<TensorEntry> some_entries() {
  return {{"matrix", "F32", {2, 3}, bytes_of(kMatrix)},
          {"/a b/\xC3\xA4", "F64", {2}, bytes_of(kVector)},
          {"scalar", "I64", {}, bytes_of(kScalar)},
          {"empty", "U8", {0, 5}, {}}};
}

class NpzTest : public PythonTest {
 protected:
  void SetUp() override {}  // needs no Python

  std::string written(std::span<const TensorEntry> entries) const {
    write_npz(path("written.npz"), entries);
    return contents("written.npz");
  }
  static void expect_same(const NumpyFile& file, std::span<const TensorEntry> entries) {
    ASSERT_EQ(file.entries().size(), entries.size());
    for (const TensorEntry& entry : entries) {
      const TensorEntry* found = file.find(entry.name);
      ASSERT_NE(found, nullptr) << entry.name;
      EXPECT_EQ(found->dtype, entry.dtype);
      EXPECT_EQ(found->shape, entry.shape);
      EXPECT_EQ(values_of<std::byte>(*found), values_of<std::byte>(entry)) << entry.name;
    }
  }
};

TEST_F(NpzTest, WhatIsWrittenIsRead) {
  const std::vector<TensorEntry> entries = some_entries();
  const std::string bytes = written(entries);
  NumpyFile loaded = NumpyFile::read(path("written.npz"));
  const NumpyFile file = std::move(loaded);  // the entries must survive a move
  expect_same(file, entries);
  EXPECT_EQ(file.find("other"), nullptr);
  EXPECT_EQ(written(entries), bytes) << "the same arrays, the same bytes";
  EXPECT_TRUE(parse(written({})).entries().empty());
}

TEST_F(NpzTest, OneArrayHasAFileOfItsOwn) {
  write_npy(path("one.npy"), some_entries()[0]);
  const NumpyFile file = NumpyFile::read(path("one.npy"));
  ASSERT_EQ(file.entries().size(), 1u);
  EXPECT_EQ(file.entries()[0].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(values_of<std::byte>(*file.find("")), values_of<std::byte>(some_entries()[0]));
}

TEST_F(NpzTest, ReadingNeedsAFileOfThatKind) {
  EXPECT_THROW(NumpyFile::read(path("missing.npz")), FileError);
  EXPECT_THROW(NumpyFile::read(path(".")), FileError);
  std::ofstream(path("empty.npz")).close();
  EXPECT_THROW(NumpyFile::read(path("empty.npz")), FileError);
  std::ofstream(path("huge.npz")).close();
  std::filesystem::resize_file(path("huge.npz"), std::uintmax_t{1} << 42);
  expect_file_error([&] { NumpyFile::read(path("huge.npz")); }, 0, 0, "need a file of numpy");
}

TEST_F(NpzTest, WritingRefusesWhatCouldNotBeRead) {
  const auto refuse = [&](TensorEntry entry, const std::string& part) {
    const std::vector<TensorEntry> entries = {some_entries()[0], std::move(entry)};
    const std::string message =
        message_of<UsageError>([&] { write_npz(path("bad.npz"), entries); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(path("bad.npz")));
  };
  const auto bytes = bytes_of(kMatrix);
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

TEST_F(NpzTest, HeadersOfArrays) {
  const std::string eight(8, '\1');
  const auto shape = [&](const std::string& text) {
    return parse(npy("{'descr': '|u1', 'fortran_order': False, 'shape': " + text + "}\n", eight))
        .entries()[0]
        .shape;
  };
  using Shape = std::vector<std::uint64_t>;
  EXPECT_EQ(shape("(8,)"), (Shape{8}));
  EXPECT_EQ(shape("(2,4)"), (Shape{2, 4}));
  EXPECT_EQ(shape("( 2 , 2, 2, ) , "), (Shape{2, 2, 2}));
  EXPECT_EQ(parse(npy("{\"shape\":(), \"fortran_order\":True, \"descr\":\"<f8\"}", eight))
                .entries()[0]
                .dtype,
            "F64");
  const auto refuse = [&](const std::string& header, const std::string& part) {
    expect_refused(npy(header, eight), part);
  };
  const std::string order = "'fortran_order': False, ", type = "'descr': '|u1', ",
                    sizes = "'shape': (8,), ";
  refuse("", "need \"{\" in the header of \"\"; got \"\"");
  refuse("{", "need text in quotes");
  refuse("{'descr", "need text in quotes");
  refuse("{'descr': '|u1'", "need \"}\"");
  refuse("{" + order + type + "}", "need the keys descr, fortran_order and shape");
  refuse("{" + order + order + type + sizes + "}", "shape once");
  refuse("{" + order + type + sizes + "'more': 1}",
         "shape once in the header of \"\"; got \"more\"");
  refuse("{" + order + type + sizes + "} x", "need nothing behind the dictionary");
  refuse("{'fortran_order': 0, " + type + sizes + "}", "need True or False");
  refuse("{'descr': '', " + order + sizes + "}", "need a type such as '<f4' or '<f8'");
  refuse("{'descr': 'F64', " + order + "'shape': ()}", "need a type such as");
  refuse("{'descr': [('a', '<f4')], " + order + sizes + "}", "need an array without named fields");
  refuse("{'descr': '<U3', " + order + "'shape': ()}", "one of 8 bytes in the header of");
  refuse("{'descr': '|S4', " + order + "'shape': (3,)}", "one of 8 bytes in the header of");
  refuse("{'descr': '|S8', " + order + "'shape': (0,)}", "one of 8 bytes in the header of");
  refuse("{'shape': 8, " + order + type + "}", "need \"(\"");
  refuse("{'shape': (-8,), " + order + type + "}", "need whole numbers below 2^64");
  refuse("{'shape': (18446744073709551616,), " + order + type + "}", "need whole numbers");
  refuse("{'shape': (8 8), " + order + type + "}", "need \")\"");
  refuse("{'shape': (7,), " + order + type + "}", "one of 8 bytes in the header of \"\"; got \"U8");
  refuse("{'shape': (4294967296, 4294967296, 8), " + order + type + "}",
         "need a shape that is one");
  std::string many;
  for (int i = 0; i < 33; ++i) many += "1, ";
  refuse("{'shape': (" + many + "8), " + order + type + "}", "need at most 32 dimensions");

  const std::string good = npy("{" + order + type + sizes + "}", eight);
  EXPECT_EQ(parse(good).entries().size(), 1u);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(parse(good.substr(0, size)), FileError) << size;
  }
  expect_refused(good + "x", "need a shape that is one of 9 bytes");
  expect_refused(replaced(good, 6, "\4"), "need version 1, 2 or 3");
  expect_refused(replaced(good, 8, "\xff\xff"), "need all that its length says");
}

TEST_F(NpzTest, TextsAndOtherElements) {
  const auto file = [](const std::string& type, const std::string& shape, const std::string& data) {
    return parse(
        npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + "}", data));
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
  EXPECT_EQ(
      parse(npy("{'descr': '|S1', 'fortran_order': True, 'shape': (2, 3)}", "adbecf")).texts(""),
      (Texts{"a", "b", "c", "d", "e", "f"}));
  EXPECT_EQ(parse(npy("{'descr': '|S3', 'fortran_order': True, 'shape': (2, 2)}", "abcghidefjkl"))
                .texts(""),
            (Texts{"abc", "def", "ghi", "jkl"}));
  // What cannot be used does not stand in the way of what can.
  for (const char* type : {"|O", ">f4", "<c8", "<M8[s]", "<U0", "<U", "<U99999999999", "|S0"}) {
    const NumpyFile other = file(type, "(1000,)", "some bytes");
    EXPECT_EQ(other.find("")->dtype, type);
    EXPECT_EQ(other.find("")->bytes.size(), 10u);
    expect_file_error([&] { other.texts(""); }, 0, 0,
                      "need an array of texts named \"\"; got one of \"" + std::string(type));
  }
  const NumpyFile numbers = parse(written(some_entries()));
  expect_file_error([&] { numbers.texts("matrx"); }, 0, 0,
                    "named \"matrx\"; got none, the nearest are \"matrix\"");
}

/// Where the parts of an archive of one member are.
struct Places {
  std::size_t entry, end;
  explicit Places(const std::string& archive)
      : entry(archive.find("PK\1\2")), end(archive.rfind("PK\5\6")) {}
};

TEST_F(NpzTest, HostileArchives) {
  const std::vector<TensorEntry> entries = {some_entries()[0]};
  const std::string good = written(entries);
  const auto [entry, end] = Places(good);
  expect_refused("", "need a file of numpy, .npz or .npy; got one that begins with \"\"");
  expect_refused("{\"a\":1}", "begins with \"{\"a\":1\"");
  expect_refused("PK", "need a zip archive");
  // The record at the end: members, bytes and beginning of the directory, parts.
  expect_refused(replaced(good, end + 10, "\2"), "need a zip archive in one part");
  expect_refused(replaced(good, end + 8, "\xff\xff\xff\xff"), "need a directory that ends at byte");
  expect_refused(replaced(good, end + 8, std::string("\2\0\2", 3)), "got 2 members in 56 bytes");
  expect_refused(replaced(good, end + 8, std::string("\0\0\0", 3)), "nothing behind the members");
  expect_refused(replaced(good, end + 12, "\xff\xff"), "need a directory that ends at byte");
  expect_refused(replaced(good, end + 16, "\xff\xff\xff\xff"),
                 "need a directory that ends at byte");
  expect_refused(replaced(good, end + 4, "\1"), "need a zip archive in one part");
  // The member in the directory.
  expect_refused(replaced(good, entry, "X"), "need a member in its directory");
  expect_refused(replaced(good, entry + 8, "\1"), "need members that are not encrypted");
  expect_refused(replaced(good, entry + 10, "\x0c"), "need members that are stored or deflated");
  expect_refused(replaced(good, entry + 16, "X"), "need bytes with the checksum");
  expect_refused(replaced(good, entry + 20, "X"), "of a size that");
  expect_refused(replaced(good, entry + 24, "X"), "of a size that");
  expect_refused(replaced(good, entry + 20, "\xff\xff\xff\xff"), "Zip64 field for the large sizes");
  expect_refused(replaced(good, entry + 20, "\xff\xff\xff\x7f\xff\xff\xff\x7f"),
                 "bytes where the directory says");
  expect_refused(replaced(good, entry + 28, "\xff\xff"), "need a directory with all that it has");
  expect_refused(replaced(good, entry + 42, "\1"), "where the directory says");
  expect_refused(replaced(good, entry + 42, "\xff\xff\xff\x7f"), "between bytes 0 and");
  expect_refused(replaced(good, entry + 46, "X"), "where the directory says");
  // The member itself.
  expect_refused(replaced(good, 2, "X"), "where the directory says");
  expect_refused(replaced(good, 28, "\xff\xff"), "where the directory says");
  expect_refused(replaced(good, entry - 1, "X"), "need bytes with the checksum");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(parse(good.substr(0, size)), FileError) << size;
  }
  EXPECT_THROW(parse(good + "x"), FileError);
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = good;
    const auto count = static_cast<std::uint32_t>(good.size());
    for (std::uint32_t k = random.below(4) + 1; k > 0; --k) {
      damaged[random.below(count)] = static_cast<char>(random.below(256));
    }
    try {
      parse(damaged);
    } catch (const FileError&) {  // what else is thrown fails the test
    }
  }
}

/// An archive of one member that is deflated, or says so.
std::string deflated(const std::string& bytes, std::uint64_t size, std::uint32_t crc = 0) {
  const std::string name = "a.npy";
  // Flags, method, time, date, checksum, sizes, and the length of the name.
  const std::string common = little_endian(0, 2) + little_endian(8, 2) + little_endian(0, 4) +
                             little_endian(crc, 4) + little_endian(bytes.size(), 4) +
                             little_endian(size, 4) + little_endian(name.size(), 2);
  const std::string local =
      "PK\3\4" + little_endian(20, 2) + common + little_endian(0, 2) + name + bytes;
  const std::string entry =
      "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + common + little_endian(0, 16) + name;
  return local + entry + "PK\5\6" + little_endian(0, 4) + little_endian(1, 2) +
         little_endian(1, 2) + little_endian(entry.size(), 4) + little_endian(local.size(), 4) +
         little_endian(0, 2);
}

TEST_F(NpzTest, DeflatedMembersThatLie) {
  // A block that is stored: its last, 1 byte, inverted, and the byte.
  const std::string one(
      "\1\1\0\xfe\xff"
      "A",
      6);
  expect_refused(deflated(one, 1, 0xd3d99e8b), "numpy's magic bytes");  // inflated, and whole
  expect_refused(deflated(one, 1, 1), "need bytes with the checksum 00000001");
  expect_refused(deflated(one, 2), "need 2 bytes when \"a.npy\" is inflated");
  expect_refused(deflated(one, 0), "need 0 bytes when");
  expect_refused(deflated(one.substr(0, 5), 1), "need 1 byte when");
  expect_refused(deflated(one + "x", 1), "need 1 byte when");
  expect_refused(deflated("\7", 1), "need 1 byte when");
  expect_refused(deflated("", 0), "need 0 bytes when");
  expect_refused(deflated(one, 6 * 1032 + 1), "of a size that 6 bytes hold");
  expect_file_error([&] { parse(deflated(one, 6 * 1032), 6 * 1032 - 1); }, 0, 0,
                    "need at most 6191 bytes when all is inflated");
  expect_file_error([&] { parse(deflated(one, 6 * 1032), 6 * 1032); }, 0, 0,
                    "need 6192 bytes when");
}

TEST_F(NpzTest, OtherMembersAreRefused) {
  const std::string bytes = "text";
  {
    AtomicFile file(path("other.zip"));
    zip::Writer writer(file);
    writer.add("a.txt", std::as_bytes(std::span(bytes)), {});
    writer.finish();
    file.commit();
  }
  expect_refused(contents("other.zip"), "need arrays, whose names end in \".npy\"");
  std::string twice = written(std::vector<TensorEntry>{{"a", "F32", {6}, bytes_of(kMatrix)},
                                                       {"b", "F32", {6}, bytes_of(kMatrix)}});
  for (std::size_t at; (at = twice.find("b.npy")) != twice.npos;) twice[at] = 'a';
  expect_refused(twice, "need unique names; got \"a.npy\" twice");
}

// What large archives have, in a small one: both headers and the directory with numbers of 8 bytes.
TEST_F(NpzTest, ArchivesWithWideNumbers) {
  write_npy(path("one.npy"), some_entries()[0]);
  const std::string array = contents("one.npy");
  {
    AtomicFile file(path("wide.npz"));
    zip::Writer writer(file, 0);
    for (const char* name : {"a.npy", "b.npy"}) {
      writer.add(name, std::as_bytes(std::span(array)), {});
    }
    writer.finish();
    file.commit();
  }
  const std::string wide = contents("wide.npz");
  const NumpyFile file = parse(wide);
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(values_of<float>(*file.find("b")).back(), -3.0f);
  for (std::size_t size = 0; size < wide.size(); ++size) {
    EXPECT_THROW(parse(wide.substr(0, size)), FileError) << size;
  }
  const std::size_t record = wide.find("PK\6\6"), locator = wide.find("PK\6\7"),
                    entry = wide.rfind("PK\1\2");
  const std::string huge(8, '\xff');
  expect_refused(replaced(wide, record, "X"), "need a Zip64 record where its locator says");
  expect_refused(replaced(wide, locator + 8, huge), "need a Zip64 record where its locator says");
  expect_refused(replaced(wide, record + 24, huge + huge), "need a directory that ends at byte");
  expect_refused(replaced(wide, record + 24, huge), "need a zip archive in one part");
  expect_refused(replaced(wide, record + 40, huge), "need a directory that ends at byte");
  expect_refused(replaced(wide, record + 48, huge), "need a directory that ends at byte");
  const std::size_t extra = entry + 46 + 5;
  expect_refused(replaced(wide, extra, "\2"),
                 "need a Zip64 field for the large sizes of \"b.npy\"");
  expect_refused(replaced(wide, extra + 2, "\xff"), "need a Zip64 field for the large sizes");
  expect_refused(replaced(wide, extra + 4, huge + huge), "where the directory says");
  expect_refused(replaced(wide, extra + 20, huge), "between bytes");
  expect_refused(replaced(wide, extra + 20, std::string(8, '\0')), "between bytes");

  PythonTest::SetUp();
  if (IsSkipped()) return;
  EXPECT_EQ(run("import numpy\nt = numpy.load('wide.npz')\nprint(sorted(t), t['b'][1][2])\n"),
            "['a', 'b'] -3.0\n");
}

// So many that their number needs Zip64, and nothing else does.
TEST_F(NpzTest, ManyArrays) {
  constexpr std::size_t kCount = 65535;
  std::vector<TensorEntry> entries;
  for (std::size_t i = 0; i < kCount; ++i) {
    entries.push_back({std::to_string(i), "I64", {}, bytes_of(kScalar)});
  }
  const std::string bytes = written(entries);
  EXPECT_NE(bytes.find("PK\6\6"), bytes.npos);
  const NumpyFile file = parse(bytes);
  EXPECT_EQ(file.entries().size(), kCount);
  EXPECT_EQ(values_of<std::int64_t>(*file.find("65534")), kScalar);
  entries.pop_back();
  EXPECT_EQ(written(entries).find("PK\6\6"), bytes.npos);

  PythonTest::SetUp();
  if (IsSkipped()) return;
  write_npz(path("many.npz"), entries);
  EXPECT_EQ(run("import numpy\nt = numpy.load('many.npz')\nprint(len(t), t['65533'])\n"),
            "65534 -7\n");
  entries.push_back({"last", "I64", {}, bytes_of(kScalar)});
  write_npz(path("many.npz"), entries);
  EXPECT_EQ(run("import numpy\nt = numpy.load('many.npz')\nprint(len(t), t['last'])\n"),
            "65535 -7\n");
}

class NumpyTest : public PythonTest {};

TEST_F(NumpyTest, ReadsWhatIsWrittenHere) {
  write_npz(path("written.npz"), some_entries());
  write_npy(path("one.npy"), some_entries()[0]);
  EXPECT_EQ(run(R"(import numpy, zipfile
t = numpy.load("written.npz")
for name in t: print(ascii(name), t[name].dtype, t[name].shape, t[name].tolist())
print(numpy.load("one.npy")[1].tolist(), zipfile.ZipFile("written.npz").testzip())
)"),
            "'matrix' float32 (2, 3) [[0.0, -0.0, 1.5], [inf, 1.401298464324817e-45, -3.0]]\n"
            "'/a b/\\xe4' float64 (2,) [1e+300, -2.0]\n"
            "'scalar' int64 () -7\n"
            "'empty' uint8 (0, 5) []\n"
            "[inf, 1.401298464324817e-45, -3.0] None\n");
}

TEST_F(NumpyTest, WritesWhatIsReadHere) {
  run(R"(import numpy
arrays = {
    "rows": numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4),
    "columns": numpy.asfortranarray(numpy.arange(24, dtype=numpy.float64).reshape(2, 3, 4)),
    "bytes": numpy.asfortranarray(numpy.arange(6, dtype=numpy.uint8).reshape(2, 3)),
    "shorts": numpy.asfortranarray(numpy.arange(6, dtype=numpy.int16).reshape(3, 2)),
    "halves": numpy.array([1.5], dtype=numpy.float16),
    "truths": numpy.array([True, False]),
    "scalar": numpy.array(7),
    "empty": numpy.asfortranarray(numpy.zeros((0, 4), dtype=numpy.float32)),
    "n\u00e4me": numpy.zeros(1000, dtype=numpy.float32),
}
numpy.savez("stored.npz", **arrays)
numpy.savez_compressed("deflated.npz", **arrays)
numpy.save("one.npy", arrays["columns"])
numpy.lib.format.write_array(open("two.npy", "wb"), arrays["rows"], version=(2, 0))
numpy.savez("words.npz", numpy.array([{}, None]), big=arrays["rows"].astype(">f4"),
            words=numpy.array(["a", "caf\u00e9", "", "\U0001f600"]), W=arrays["rows"],
            table=numpy.asfortranarray([["a", "bc"], ["d", "e"]]), bytes=numpy.array([b"a", b"bcd"]))
numpy.savez("records.npz", numpy.zeros(2, dtype=[("a", "<f4")]))
)");
  std::vector<double> to_24;
  for (int i = 0; i < 24; ++i) to_24.push_back(i);
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const NumpyFile file = NumpyFile::read(path(name));
    ASSERT_EQ(file.entries().size(), 9u);
    EXPECT_EQ(values_of<double>(*file.find("columns")), to_24);
    EXPECT_EQ(file.find("columns")->shape, (std::vector<std::uint64_t>{2, 3, 4}));
    EXPECT_EQ(values_of<float>(*file.find("rows")), std::vector<float>(to_24.begin(), to_24.end()));
    EXPECT_EQ(values_of<std::uint8_t>(*file.find("bytes")),
              (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(values_of<std::int16_t>(*file.find("shorts")),
              (std::vector<std::int16_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(values_of<std::uint16_t>(*file.find("halves")), (std::vector<std::uint16_t>{0x3e00}));
    EXPECT_EQ(file.find("halves")->dtype, "F16");
    EXPECT_EQ(file.find("truths")->dtype, "BOOL");
    EXPECT_EQ(values_of<std::int64_t>(*file.find("scalar")), (std::vector<std::int64_t>{7}));
    EXPECT_EQ(file.find("empty")->shape, (std::vector<std::uint64_t>{0, 4}));
    EXPECT_EQ(values_of<float>(*file.find("n\xC3\xA4me")), std::vector<float>(1000));
  }
  EXPECT_EQ(values_of<double>(NumpyFile::read(path("one.npy")).entries()[0]), to_24);
  EXPECT_EQ(values_of<float>(NumpyFile::read(path("two.npy")).entries()[0]).back(), 23);
  const NumpyFile words = NumpyFile::read(path("words.npz"));
  using Texts = std::vector<std::string>;
  EXPECT_EQ(words.texts("words"), (Texts{"a", "caf\u00e9", "", "\U0001f600"}));
  EXPECT_EQ(words.texts("table"), (Texts{"a", "bc", "d", "e"}));
  EXPECT_EQ(words.texts("bytes"), (Texts{"a", "bcd"}));
  EXPECT_EQ(values_of<float>(*words.find("W")).back(), 23);
  EXPECT_EQ(words.find("big")->dtype, ">f4");
  EXPECT_EQ(words.find("arr_0")->dtype, "|O");
  expect_file_error([&] { NumpyFile::read(path("records.npz")); }, 0, 0,
                    "need an array without named fields");
}

}  // namespace
}  // namespace dynet_like
