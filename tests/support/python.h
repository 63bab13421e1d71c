// Python with numpy and safetensors, if the machine has it, to compare with.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/support/folder_test.h"

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
class PythonTest : public FolderTest {
 protected:
  explicit PythonTest(std::string interpreter = python_interpreter())
      : interpreter_(std::move(interpreter)) {}
  void SetUp() override {
    if (!imports("numpy, safetensors.numpy")) {
      GTEST_SKIP()
          << "needs Python with numpy and safetensors, which scripts/python_env.sh installs";
    }
  }

  bool imports(const std::string& modules) { return call("import " + modules) == 0; }
  /// Runs a program in the folder, which must succeed, and returns its output.
  std::string run(const std::string& program) {
    const int status = call(program);
    EXPECT_EQ(status, 0) << program << '\n' << contents("log");
    return contents("out");
  }

 private:
  int call(const std::string& program) {
    write(program, "program.py");
    const std::string command =
        "cd '" + folder() + "' && '" + interpreter_ + "' program.py >out 2>log";
    return std::system(command.c_str());
  }

  std::string interpreter_;
};

}  // namespace dynet_like
