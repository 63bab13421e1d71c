// Tensors in both formats, safetensors and numpy's: round trips, files that cannot be read, and
// what Python reads and writes.
#include "tests/io/tensor_files.h"

#include <sys/stat.h>

#include "tests/support/precompiled.h"
#include "tests/support/python.h"

namespace dynet_like {
namespace {

using Shape = std::vector<std::uint64_t>;

const std::vector<float> kSix = {0.0f, -0.0f, 1.5f, HUGE_VALF, 0x1p-149f, -3.0f};
const std::vector<double> kTwo = {1e300, -2.0};
const std::vector<std::int64_t> kOne = {-7};
const std::vector<std::uint8_t> kThree = {1, 2, 3};

std::vector<TensorEntry> some_entries() {
  return {{"small \"quoted\"\n", "U8", {3}, bytes_of(kThree)},
          {"matrix", std::string(safetensors_name(DType::f32)), {2, 3}, bytes_of(kSix)},
          {"/a b/\xC3\xA4", std::string(safetensors_name(DType::f64)), {2}, bytes_of(kTwo)},
          {"scalar", "I64", {}, bytes_of(kOne)},
          {"empty", "F32", {0, 5}, {}}};
}

class TensorFilesTest : public FolderTest, public ::testing::WithParamInterface<TensorFormat> {
 protected:
  const TensorFormat& format_ = GetParam();
  const std::string file_ = path("tensors") + format_.suffix;
};

INSTANTIATE_TEST_SUITE_P(Formats, TensorFilesTest, ::testing::ValuesIn(tensor_formats()),
                         [](const auto& info) { return info.param.suffix + 1; });

TEST_P(TensorFilesTest, WhatIsWrittenIsRead) {
  const std::vector<TensorEntry> entries = some_entries();
  format_.write(file_, entries);
  const std::string bytes = file_contents(file_);
  // The entries have survived a move.
  for (const auto& file : {format_.read(file_), format_.parse(bytes)}) {
    ASSERT_EQ(file->entries().size(), entries.size());
    for (const TensorEntry& entry : entries) {
      const TensorEntry* const found = file->find(entry.name);
      ASSERT_NE(found, nullptr) << entry.name;
      EXPECT_EQ(found->name, entry.name);
      EXPECT_EQ(found->dtype, entry.dtype);
      EXPECT_EQ(found->shape, entry.shape);
      EXPECT_EQ(values_of<std::byte>(*found), values_of<std::byte>(entry)) << entry.name;
    }
    EXPECT_EQ(file->find("other"), nullptr);
  }
  format_.write(file_, entries);
  EXPECT_EQ(file_contents(file_), bytes) << "the same tensors, the same bytes";
  EXPECT_EQ(files(), 1);
  format_.write(file_, {});
  EXPECT_TRUE(format_.read(file_)->entries().empty());
}

TEST_P(TensorFilesTest, ReadingNeedsAWholeFile) {
  EXPECT_THROW(format_.read(path("missing")), FileError);
  EXPECT_THROW(format_.read(folder()), FileError);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THROW(format_.read(path("pipe")), FileError);
  format_.write(file_, std::vector{some_entries()[1]});
  const std::string whole = file_contents(file_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(format_.parse(whole.substr(0, size)), FileError) << size;
    EXPECT_THROW(format_.read(write(whole.substr(0, size))), FileError) << size;
  }
}

// A file with holes looks large and costs nothing: its length must not be believed too early.
TEST_P(TensorFilesTest, AHugeFileIsRefusedBeforeItIsRead) {
  for (const std::string& begin : {std::string("\2\0\0\0\0\0\0\0{}", 10), std::string()}) {
    std::filesystem::resize_file(write(begin), std::uintmax_t{1} << 42);
    EXPECT_THROW(format_.read(path()), FileError);
  }
}

using PythonTensorsTest = PythonTest;

TEST_F(PythonTensorsTest, ReadsWhatIsWrittenHere) {
  for (const TensorFormat& format : tensor_formats()) {
    format.write(path("t") + format.suffix, some_entries());
  }
  write_safetensors(path("with.safetensors"), {}, {{"by", "C++"}});
  write_npy(path("one.npy"), some_entries()[1]);
  const std::string tensors =
      "'/a b/\\xe4' float64 (2,) [1e+300, -2.0]\n"
      "'empty' float32 (0, 5) []\n"
      "'matrix' float32 (2, 3) [[0.0, -0.0, 1.5], [inf, 1.401298464324817e-45, -3.0]]\n"
      "'scalar' int64 () -7\n"
      "'small \"quoted\"\\n' uint8 (3,) [1, 2, 3]\n";
  EXPECT_EQ(run(R"(import numpy, safetensors.numpy, zipfile
for t in safetensors.numpy.load_file("t.safetensors"), numpy.load("t.npz"):
    for name in sorted(t): print(ascii(name), t[name].dtype, t[name].shape, t[name].tolist())
print(numpy.load("one.npy")[1].tolist(), zipfile.ZipFile("t.npz").testzip())
with safetensors.safe_open("with.safetensors", framework="numpy") as file:
    print(file.metadata()["by"], len(file.metadata()))
)"),
            tensors + tensors + "[inf, 1.401298464324817e-45, -3.0] None\nC++ 3\n");
}

TEST_F(PythonTensorsTest, WritesWhatIsReadHere) {
  run(R"(import numpy, safetensors.numpy
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
rows = {name: numpy.array(array, order="C") for name, array in arrays.items()}
safetensors.numpy.save_file(rows, "rows.safetensors", metadata={"by": "Python", "n\u00e4me": "\u4e2d"})
)");
  std::vector<double> to_24;
  for (int i = 0; i < 24; ++i) to_24.push_back(i);
  const std::vector<TensorFormat> formats = tensor_formats();
  for (const auto& file :
       {formats[0].read(path("rows.safetensors")), formats[1].read(path("stored.npz")),
        formats[1].read(path("deflated.npz"))}) {
    SCOPED_TRACE(file->name());
    ASSERT_EQ(file->entries().size(), 9u);
    EXPECT_EQ(values_of<double>(*file->find("columns")), to_24);
    EXPECT_EQ(file->find("columns")->shape, (Shape{2, 3, 4}));
    EXPECT_EQ(file->find("rows")->dtype, "F32");
    EXPECT_EQ(values_of<float>(*file->find("rows")),
              std::vector<float>(to_24.begin(), to_24.end()));
    EXPECT_EQ(values_of<std::uint8_t>(*file->find("bytes")),
              (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(values_of<std::int16_t>(*file->find("shorts")),
              (std::vector<std::int16_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(values_of<std::uint16_t>(*file->find("halves")),
              (std::vector<std::uint16_t>{0x3e00}));
    EXPECT_EQ(file->find("halves")->dtype, "F16");
    EXPECT_EQ(file->find("truths")->dtype, "BOOL");
    EXPECT_EQ(values_of<std::int64_t>(*file->find("scalar")), (std::vector<std::int64_t>{7}));
    EXPECT_EQ(file->find("empty")->shape, (Shape{0, 4}));
    EXPECT_EQ(values_of<float>(*file->find("n\xC3\xA4me")), std::vector<float>(1000));
  }
  EXPECT_EQ(SafetensorsFile::read(path("rows.safetensors")).metadata(),
            (Metadata{{"by", "Python"}, {"n\xC3\xA4me", "\xE4\xB8\xAD"}}));
}

}  // namespace
}  // namespace dynet_like
