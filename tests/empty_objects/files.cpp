// Files in memory.
#include "dynet_like/dynet_like.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

void use_entries(const TensorEntries& file) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2});
  for (const TensorEntry& entry : file.entries()) EXPECT_EQ(file.find(entry.name), &entry);
  EXPECT_EQ(file.find("W") != nullptr, !file.entries().empty());
  file.name();
  try {
    load_parameter(file, "W", p);
  } catch (const FileError&) {
  }
}

}  // namespace

void use_files(Types& types) {
  const std::vector<float> numbers = {1, 2};
  const TensorEntry entry{"W", "F32", {2}, std::as_bytes(std::span(numbers))};
  const std::string path = ::testing::TempDir() + "/file";
  write_safetensors(path, std::span(&entry, 1), {{"key", "value"}});
  types.use("SafetensorsFile", SafetensorsFile::read(path), [](const SafetensorsFile& file) {
    use_entries(file);
    EXPECT_LE(file.metadata().size(), 1u);
    ParameterCollection model;
    ATTEMPT(load_parameters(file, model, ExtraTensors::ignore));
  });
  write_npz(path, std::span(&entry, 1));
  types.use("NumpyFile", NumpyFile::read(path), [](const NumpyFile& file) {
    use_entries(file);
    EXPECT_THROW(file.texts("W"), FileError);
  });
  types.use("TensorEntries", TensorEntries(NumpyFile::read(path)), use_entries);
  types.use("LoadReport", LoadReport(), [](const LoadReport& report) {
    EXPECT_TRUE(report.is_complete());
    EXPECT_EQ(report.text(), "loaded 0 parameters\n");
  });
}

}  // namespace dynet_like
