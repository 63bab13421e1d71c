// A folder of files for each test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace dynet_like {

inline std::string file_contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A test with a folder of its own, which is removed at the end.
class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    std::string pattern = ::testing::TempDir() + "folder_XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~FolderTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name = "file") const { return folder_ + "/" + name; }
  std::string contents(const std::string& name = "file") const { return file_contents(path(name)); }
  /// Writes a file, and returns its path.
  std::string write(const std::string& text, const std::string& name = "file") const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

 private:
  std::string folder_;
};

}  // namespace dynet_like
