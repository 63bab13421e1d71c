// Every class that a public header declares: its objects are used when they have nothing in them.
#include <filesystem>
#include <sstream>
#include <vector>

#include "tests/empty_objects/types.h"
#include "tests/support/declared_classes.h"
#include "tests/support/layer_cases.h"

namespace dynet_like {
namespace {

using Use = void (*)(Types&);

class EmptyObjectsTest : public ::testing::TestWithParam<Use> {};

TEST_P(EmptyObjectsTest, AreRefusedOrGiveTheEmptyAnswer) {
  Types types;
  GetParam()(types);
}

constexpr Use kAll[] = {use_graphs,     use_parameters, use_files,    use_decoding,
                        use_structured, use_data,       use_training, use_pipelines};
INSTANTIATE_TEST_SUITE_P(All, EmptyObjectsTest, ::testing::ValuesIn(kAll));

// A new class gets its use in one of the files beside this one; a layer gets an entry in the list
// of layers, for tests/nn/all_layers_test.cpp.
TEST(EmptyObjectsListTest, HasEveryPublicClass) {
  Types types;
  for (const Use use : kAll) use(types);
  std::set<std::string> used = types.names();
  for (const nn::LayerCase& each : nn::layer_cases()) used.insert(each.class_name());
  used.insert({"Stacked", "Bidirectional"});
  const std::set<std::string> declared =
      declared_classes({"dynet_like", "nn"}, {"dynet_like", "dynet_like::nn"});
  EXPECT_GT(declared.size(), 120u);
  for (const std::string& name : declared) {
    EXPECT_TRUE(used.contains(name)) << name << " is not used when it is empty";
  }
}

TEST(DeclaredClassesTest, AreThoseWithABodyThatAreNoStructs) {
  EXPECT_EQ(
      classes_in("namespace a { class X; struct Y {}; enum class E { x };\n"
                 "template <class T, struct U> class Z final : public B<T> { struct V {}; };\n"
                 "// class Comment {};\nnamespace b { struct Inner {}; }\n"
                 "struct Y::W { };\ntemplate <> struct Special<int> { };\n"
                 "inline void f(struct S* s) { class Local {}; } }\n"
                 "const char* text = \"struct Text { }\";\nnamespace c::d { class Last { }; }",
                 {"a", "c::d"}),
      (std::set<std::string>{"Last", "Z"}));
}

}  // namespace
}  // namespace dynet_like
