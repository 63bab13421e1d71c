// Python with numpy and safetensors, if the machine has it, to compare with.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace dynet_like {

/// The interpreter that DYNET_LIKE_PYTHON names, otherwise the one that scripts/python_env.sh
/// makes, otherwise python3.
inline std::string python_interpreter() {
  if (const char* chosen = std::getenv("DYNET_LIKE_PYTHON")) return chosen;
  const char* source = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const auto made =
      std::filesystem::path(source != nullptr ? source : ".") / "build/python/bin/python";
  return std::filesystem::exists(made) ? made.string() : "python3";
}

/// A test that runs Python programs in a folder of its own. It is skipped, visibly, if the packages
/// are missing.
class PythonTest : public testing::Test {
 protected:
  explicit PythonTest(std::string interpreter = python_interpreter())
      : interpreter_(std::move(interpreter)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "python_XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~PythonTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void SetUp() override {
    if (!imports("numpy, safetensors.numpy")) {
      GTEST_SKIP()
          << "needs Python with numpy and safetensors, which scripts/python_env.sh installs";
    }
  }

  bool imports(const std::string& modules) { return call("import " + modules) == 0; }
  std::string path(const std::string& name) const { return folder_ / name; }
  /// Runs a program in the folder, which must succeed, and returns its output.
  std::string run(const std::string& program) {
    const int status = call(program);
    EXPECT_EQ(status, 0) << program << '\n' << contents("log");
    return contents("out");
  }

  /// The contents of a file of the folder.
  std::string contents(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  int call(const std::string& program) {
    std::ofstream(path("program.py")) << program;
    const std::string command =
        "cd '" + folder_.string() + "' && '" + interpreter_ + "' program.py >out 2>log";
    return std::system(command.c_str());
  }

  std::string interpreter_;
  std::filesystem::path folder_;
};

}  // namespace dynet_like
