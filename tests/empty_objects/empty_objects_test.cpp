// Every class that a public header declares: its objects are used when they have nothing in them.
#include "tests/empty_objects/types.h"
#include "tests/support/layer_cases.h"
#include "tests/support/precompiled.h"
#include "tests/support/source_text.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;
using Use = void (*)(Types&);

class EmptyObjectsTest : public ::testing::TestWithParam<Use> {};

TEST_P(EmptyObjectsTest, AreRefusedOrGiveTheEmptyAnswer) {
  Types types;
  GetParam()(types);
}

constexpr Use kAll[] = {use_graphs, use_parameters, use_decoding, use_structured,
                        use_data,   use_pipelines,  use_training};
INSTANTIATE_TEST_SUITE_P(All, EmptyObjectsTest, ::testing::ValuesIn(kAll));

/// The classes, but not the structs, that a header declares in the library's own namespaces, at the
/// beginning of a line, as clang-format has it.
std::set<std::string> classes_in(const std::string& header) {
  std::set<std::string> classes;
  std::string name_space;
  for (const std::smatch& each :
       matches(header, R"(\n(?:namespace ([\w:]*) ?\{|class (\w+)(?! *[;\w<:]*;)))")) {
    if (!each[2].matched) {
      name_space = each[1];
    } else if (name_space == "dynet_like" || name_space == "dynet_like::nn") {
      classes.insert(each[2]);
    }
  }
  return classes;
}

// A new class gets its use in one of the files beside this one; a layer gets an entry in the list
// of layers, for tests/nn/all_layers_test.cpp.
TEST(EmptyObjectsListTest, HasEveryPublicClass) {
  Types types;
  for (const Use use : kAll) use(types);
  std::set<std::string> used = types.names();
  for (const nn::LayerCase& each : nn::layer_cases()) used.insert(each.class_name());
  used.insert({"Stacked", "Bidirectional"});
  const fs::path root = source_root();
  static const std::regex own("dynet_like/(device/(cpu|cuda)|serve/http)/.*");
  std::size_t count = 0;
  for (const char* folder : {"dynet_like", "nn"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().lexically_relative(root).generic_string();
      if (entry.path().extension() != ".h" || std::regex_match(path, own)) continue;
      for (const std::string& name : classes_in(source_text(entry.path()))) {
        EXPECT_TRUE(used.contains(name))
            << name << " of " << path << " is not used when it is empty";
        ++count;
      }
    }
  }
  EXPECT_GT(count, 110u);
}

}  // namespace
}  // namespace dynet_like
