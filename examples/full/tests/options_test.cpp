// The options of examples: command lines, checkpoints and models.
#include "examples/full/support/options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace dynet_like::examples {
namespace {

namespace fs = std::filesystem;

const Program kProgram = {"example",
                          "What it is.\n",
                          "with --deep",
                          [](const Options& options) { return options.has("deep"); },
                          {{"file", "FILE", "", "", "data"},
                           {"size", "N", "10", "20", "a size", {1, 100}},
                           {"rate", "X", "0.5", "0.5", "a rate", {0, 0.95}},
                           {"kind", "red|green", "red", "green", "a word"},
                           {"layers", "N", kNever, "3", "of deep ones", {1, 9}},
                           {"width", "N", "7", kNever, "of others", {1, 9}},
                           {"deep", "", "", "", "a flag"},
                           {"text", "TEXT", "", "", "", {}, Option::Saved::no}},
                          {{"5", "6"}, {"32", "8"}, {"0.1", "0.01"}, {"0.9", "0.8"}}};

Options options_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "example");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return Options(kProgram, static_cast<int>(pointers.size()), pointers.data());
}

std::string message_of(const std::vector<std::string>& arguments) {
  try {
    options_of(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// A new folder, which is removed at the end.
class OptionsTest : public testing::Test {
 protected:
  OptionsTest() : folder_(fs::path(testing::TempDir()) / "options_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~OptionsTest() override { fs::remove_all(folder_); }

  /// Writes the file of that name, as a run would.
  void save(const std::string& file, const Options& options) const {
    const nn::TrainingOptions training = options.training("samples", "score");
    Metadata metadata = training.settings;
    if (file == "checkpoint") {
      metadata.insert(training.arguments.begin(), training.arguments.end());
    }
    write(file, metadata);
  }
  void write(const std::string& file, const Metadata& metadata) const {
    save_parameters(folder_ / (file + ".safetensors"), ParameterCollection(), metadata);
  }

  const fs::path folder_;
};

TEST_F(OptionsTest, HaveDefaults) {
  const Options usual = options_of({}), special = options_of({"--deep"});
  EXPECT_EQ(usual.whole("size"), 10u);
  EXPECT_EQ(special.whole("size"), 20u);
  EXPECT_EQ(usual.text("kind"), "red");
  EXPECT_EQ(special.text("kind"), "green");
  EXPECT_EQ(usual.real("rate"), 0.5f);
  EXPECT_EQ(usual.text("text"), "");
  EXPECT_FALSE(usual.has("size"));
  EXPECT_EQ(special.training("samples", "score").epochs, 6u);
  EXPECT_EQ(options_of({"--size", "30"}).whole("size"), 30u);
  const std::string help = usual.help();
  for (const char* part : {"What it is.", "--size N", "(10; 20 with --deep)", "(0.5)", "(3)",
                           "--kind red|green", "(32; 8 with --deep)", "--resume"}) {
    EXPECT_NE(help.find(part), help.npos) << part << '\n' << help;
  }
}

TEST_F(OptionsTest, MustMakeSense) {
  EXPECT_EQ(message_of({"--size", "0"}), "need a whole number from 1 to 100 for --size; got \"0\"");
  EXPECT_EQ(message_of({"--size", "1.5"}),
            "need a whole number from 1 to 100 for --size; got \"1.5\"");
  EXPECT_EQ(message_of({"--rate", "nan"}), "need a number from 0 to 0.95 for --rate; got \"nan\"");
  EXPECT_EQ(message_of({"--kind", "d|g"}), "need red|green for --kind; got \"d|g\"");
  EXPECT_EQ(message_of({"--text", ""}), "need a value for --text; got \"\"");
  EXPECT_EQ(message_of({"--layers", "2"}), "need --layers only with --deep; got it without");
  EXPECT_EQ(message_of({"--deep", "--width", "2"}), "need no --width with --deep; got one");
  EXPECT_EQ(message_of({"--apply", "--size", "2"}),
            "need --apply with no options but --threads, --device, --output; got --size");
  EXPECT_TRUE(message_of({"--siz", "2"})
                  .starts_with("unrecognised option '--siz', the nearest are \"--size\", "));
  EXPECT_NE(message_of({"2"}), "");
  const Options options = options_of({"--deep", "--size", "2"});
  EXPECT_THROW(options.need_only("deep", {"rate"}), UsageError);
  EXPECT_THROW(options.need_none("deep", {"rate", "size"}), UsageError);
  EXPECT_THROW(options.need_all_or_none({"deep", "size", "rate"}), UsageError);
  EXPECT_NO_THROW(options.need_all_or_none({"deep", "size"}));
  EXPECT_NO_THROW(options.need_all_or_none({"rate", "text"}));
}

TEST_F(OptionsTest, ComeBackFromCheckpoints) {
  const std::string file = folder_ / "data";
  std::ofstream(file) << "one";
  const std::vector<std::string> resume = {"--resume", "--output", folder_};
  save("checkpoint", options_of({"--deep", "--size", "30", "--epochs", "9", "--file", file}));
  const Options all = options_of(resume);
  EXPECT_TRUE(all.has("deep"));
  EXPECT_EQ(all.whole("size"), 30u);
  EXPECT_EQ(all.whole("layers"), 3u);
  EXPECT_EQ(all.whole("epochs"), 9u);
  EXPECT_EQ(all.text("file"), file);
  const Metadata settings = all.training("samples", "score").settings;
  EXPECT_EQ(options_of({"--resume", "--output", folder_, "--epochs", "11"}).whole("epochs"), 11u);

  // Other values change the settings; the same value does not, however it is written.
  EXPECT_EQ(options_of({"--resume", "--output", folder_, "--size", "3e1"})
                .training("samples", "score")
                .settings,
            settings);
  EXPECT_NE(options_of({"--resume", "--output", folder_, "--size", "31"})
                .training("samples", "score")
                .settings,
            settings);
  // Other data change them, too; another place of the same data does not.
  fs::rename(file, file + "_moved");
  EXPECT_THROW(options_of(resume).training("samples", "score"), FileError);
  const std::vector<std::string> moved = {"--resume", "--output", folder_, "--file",
                                          file + "_moved"};
  EXPECT_EQ(options_of(moved).training("samples", "score").settings, settings);
  std::ofstream(file + "_moved") << "two";
  EXPECT_NE(options_of(moved).training("samples", "score").settings, settings);
}

TEST_F(OptionsTest, ComeBackFromModels) {
  save("best", options_of({"--deep", "--size", "30", "--rate", "0.3"}));
  Options options = options_of({"--apply", "--output", folder_});
  options.load_model();
  EXPECT_TRUE(options.is_special());
  EXPECT_EQ(options.whole("size"), 30u);
  EXPECT_EQ(options.real("rate"), 0.3f);
}

TEST_F(OptionsTest, FilesAreHostile) {
  save("best", options_of({}));
  Metadata metadata = options_of({}).training("samples", "score").settings;
  const auto load = [&] { options_of({"--apply", "--output", folder_}).load_model(); };
  EXPECT_NO_THROW(load());
  metadata["--size"] = "1000000000";
  write("best", metadata);
  EXPECT_THROW(load(), FileError);
  metadata["--size"] = "10";
  metadata["example"] = "another";
  write("best", metadata);
  EXPECT_THROW(load(), FileError);
  EXPECT_THROW(options_of({"--resume", "--output", folder_}), FileError);  // no checkpoint
  write("checkpoint", metadata);
  EXPECT_THROW(options_of({"--resume", "--output", folder_}), FileError);  // of another example
}

}  // namespace
}  // namespace dynet_like::examples
