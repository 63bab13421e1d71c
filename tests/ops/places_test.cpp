// Where an op is: its facts and function, and its kernels for both devices, in files of one name.
#include <cstdlib>

#include "dynet_like/ops/structured.h"
#include "tests/support/precompiled.h"
#include "tests/support/source_text.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;

// Without extension, those of the sources in a folder that have these words.
std::vector<std::string> files_with(const fs::path& folder, const std::string& words) {
  static std::map<fs::path, std::string> texts;
  std::vector<std::string> stems;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".cu") continue;
    const auto [text, is_new] = texts.try_emplace(entry.path());
    if (is_new) text->second = source_text(entry.path());
    if (text->second.find(words) != std::string::npos) stems.push_back(entry.path().stem());
  }
  return stems;
}

TEST(OpPlacesTest, AnOpIsInFilesOfOneName) {
  const char* root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  if (root == nullptr) GTEST_SKIP() << "need DYNET_LIKE_SOURCE_DIR, which ctest sets";
  const fs::path library = fs::path(root) / "dynet_like";
  std::size_t found = 0;
  for (const Op* op : all_ops()) {
    const std::string name(op->name);
    const auto facts = files_with(library / "graph/ops", "const Op " + name + " =");
    if (facts.empty()) continue;  // elementwise
    ++found;
    EXPECT_EQ(facts.size(), 1u) << name;
    if (op->is_stored()) continue;  // there is no kernel
    for (const char* const device : {"cpu", "cuda"}) {
      EXPECT_EQ(files_with(library / "device" / device, "{\"" + name + "\","), facts)
          << name << " needs kernels in one file of dynet_like/device/" << device
          << ", called as that in dynet_like/graph/ops";
    }
  }
  EXPECT_GT(found, 40u);
}

}  // namespace
}  // namespace dynet_like
