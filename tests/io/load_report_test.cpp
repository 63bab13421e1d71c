// Loading what a file has of a model that has changed, with a report of the rest.
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Names = std::vector<std::string>;

std::string path_of(const std::string& name) {
  return (std::filesystem::path(::testing::TempDir()) / ("load_report_" + name)).string();
}

/// The model that was saved: all its values are 1, but for a row of the table.
struct Saved {
  ParameterCollection model;
  LookupParameter words = model.add_lookup_parameters(3, {2}, ParameterInitConst(1), "words");

  Saved() {
    model.add_parameters({2, 3}, ParameterInitConst(1), "W");
    model.add_parameters({2}, ParameterInitConst(1), "b");
    model.add_parameters({4}, ParameterInitConst(1), "old");
    words.initialize(1, {5, 6});
  }
};

/// The model of today, whose values are 2.
struct Today {
  ParameterCollection model;
  Parameter w, b, added;
  LookupParameter words;

  explicit Today(unsigned rows, DType dtype = DType::f32) : model(1, dtype) {
    added = model.add_parameters({1}, ParameterInitConst(2), "new");
    b = model.add_parameters({2}, ParameterInitConst(2), "b");
    w = model.add_parameters({3, 2}, ParameterInitConst(2), "W");
    words = model.add_lookup_parameters(rows, {2}, ParameterInitConst(2), "words");
  }
};

void expect_report(const LoadReport& report) {
  EXPECT_EQ(report.loaded, (Names{"/b", "/words"}));
  EXPECT_EQ(report.missing, Names{"/new"});
  EXPECT_EQ(report.left_over, Names{"/old"});
  ASSERT_EQ(report.mismatched.size(), 1u);
  EXPECT_EQ(report.mismatched[0].name, "/W");
  EXPECT_EQ(report.mismatched[0].wanted, "F32 [3, 2]");
  EXPECT_EQ(report.mismatched[0].found, "F32 [2, 3]");
  EXPECT_FALSE(report.is_complete());
  EXPECT_EQ(report.text(),
            "loaded 2 parameters\nnot in the file: \"/new\"\nonly in the file: \"/old\"\n"
            "other in the file: \"/W\", F32 [2, 3] for F32 [3, 2]\n");
}

TEST(LoadReportTest, SaysWhatIsMissingLeftOverAndOther) {
  const std::string tensors = path_of("model.safetensors"), arrays = path_of("model.npz");
  const Saved saved;
  save_parameters(tensors, saved.model);
  save_npz(arrays, saved.model);
  for (const bool has_arrays : {false, true}) {
    const Today today(3);
    expect_report(has_arrays ? load_matching(NumpyFile::read(arrays), today.model)
                             : load_matching(tensors, today.model));
    EXPECT_EQ(as_vector(today.b.values()), (std::vector<float>{1, 1}));
    EXPECT_EQ(as_vector(today.words.values(1)), (std::vector<float>{5, 6}));
    EXPECT_EQ(as_vector(today.w.values()), std::vector<float>(6, 2));
    EXPECT_EQ(as_vector(today.added.values()), std::vector<float>(1, 2));
  }
}

TEST(LoadReportTest, TablesAndTypesMustFit) {
  const std::string file = path_of("model.safetensors");
  save_parameters(file, Saved().model);
  const Today larger(4);
  EXPECT_EQ(load_matching(file, larger.model).mismatched.back().wanted, "F32 [4, 2]");
  EXPECT_EQ(as_vector(larger.words.values(1)), (std::vector<float>{2, 2}));
  const Today doubles(3, DType::f64);
  const LoadReport report = load_matching(file, doubles.model);
  EXPECT_TRUE(report.loaded.empty());
  EXPECT_EQ(report.mismatched.size(), 3u);
  EXPECT_EQ(report.mismatched.back().wanted, "F64 [3, 2]");
}

// Also of a checkpoint, whose moments are no parameters.
TEST(LoadReportTest, IsCompleteWhereAllFits) {
  const std::string file = path_of("run.safetensors");
  Saved saved;
  AdamTrainer trainer(saved.model);
  trainer.update({});
  save_checkpoint(file, saved.model, trainer, Random());
  const Saved again;
  const LoadReport report = load_matching(file, again.model);
  EXPECT_TRUE(report.is_complete()) << report.text();
  EXPECT_EQ(report.loaded.size(), 4u);
  EXPECT_EQ(values_of(again.model), values_of(saved.model));
  EXPECT_TRUE(load_matching(file, ParameterCollection()).loaded.empty());
}

TEST(LoadReportTest, FilesMustBeWhole) {
  const Today today(3);
  EXPECT_THROW(load_matching(path_of("nothing"), today.model), FileError);
  EXPECT_EQ(values_of(today.model), std::vector<float>(15, 2));
}

}  // namespace
}  // namespace dynet_like
