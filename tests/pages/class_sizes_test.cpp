// No class has more functions and data members than one can hold in mind.
#include "tests/pages/class_sizes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>

#include "tests/support/source_text.h"

namespace dynet_like::class_sizes {

std::ostream& operator<<(std::ostream& out, const ClassSize& size) {
  return out << size.name << " " << size.functions << "/" << size.members;
}

namespace {

constexpr std::size_t kMostFunctions = 30, kMostMembers = 15;

struct Size {
  std::size_t functions = 0, members = 0;
};

// Those that are larger still, and how large they are. Numbers may only become smaller, and a class
// that keeps to the limits leaves the list: give parts of a larger one to classes of their own.
const std::map<std::string, Size> kLarger = {};

std::string sizes(std::string_view text) {
  std::string all;
  for (const ClassSize& size : sizes_of_classes(text)) {
    all += size.name + " " + std::to_string(size.functions) + " " + std::to_string(size.members) +
           (size.is_record ? " record\n" : "\n");
  }
  return all;
}

TEST(ClassSizesTest, CountFunctionsOfAllKinds) {
  EXPECT_EQ(sizes(R"(class A : public B<int, C{}> {
                      public:
                       A() = default;
                       explicit A(int x) : B<int>(x), a_{x}, b_(f(x)) { if (x > 0) { g(); } }
                       ~A() override;
                       A(const A&) = delete;
                       A& operator=(const A&) = delete;
                       bool operator()(int x) const { return x < a_; }
                       operator bool() const;
                       template <class T, int n = 3>
                       std::map<T, int> f(std::function<void(int)> g = {}) const noexcept(false);
                       virtual auto h() -> decltype(f()) = 0;
                       static constexpr int two() { return 2; }
                       friend bool same(A, A) { return true; }
                       friend class C;
                       using D = std::vector<int>;
                       static_assert(sizeof(int) == 4);
                     };)"),
            "A 10 0\n");
}

TEST(ClassSizesTest, CountDataMembers) {
  EXPECT_EQ(sizes(R"(class alignas(64) A final {
                       class Later;
                       enum class E : char { x, y };
                       int a = 1, b{2}, c[3] = {1, 2, 3};
                       std::map<std::string, std::vector<int>> d;
                       std::function<void(int, int)> e = [](int, int) { return; };
                       void (*f)(int, int) = nullptr;
                       alignas(16) char g;
                       unsigned h : 3;
                       enum { u, v } i = u;
                       static constexpr int k = 1;
                       static constexpr int l[] = {1, 2};
                       const A* j = a < b ? nullptr : this;
                       int m, n;
                     };)"),
            "A 0 12 record\n");
}

TEST(ClassSizesTest, LeaveNestedClassesTheirOwn) {
  EXPECT_EQ(sizes(R"(namespace n {
                     struct A { struct B { int x; void f(); } b; struct C; union { int y; }; int z; };
                     struct A::C { int a; };
                     template <> struct D<int> { int f() const { struct E { int a, b; } e; return 0; } };
                     template <class T, struct U> void f(struct A* a, class B b);
                     enum class F { a };
                     })"),
            "A 0 3 record\nB 1 1\nA::C 0 1 record\nD 1 0 record\nE 0 2 record\n");
}

TEST(ClassSizesTest, PassOverWhatIsNoCode) {
  EXPECT_EQ(
      sizes("struct A {  // int a; {\n  /* int b; } */ int c = '{';\n#define X(y) \\\n  int y; }\n"
            "  const char* d = \"\\\"; int e;\", *f = R\"re(\"; int g; })re\";\n"
            "  int h = 10'000;\n};"),
      "A 0 4 record\n");
}

TEST(ClassSizesTest, TellRecordsFromOtherClasses) {
  EXPECT_EQ(
      sizes("struct A { int a; int f() const; static A of(); bool operator==(const A&) const; };"
            "struct B { int a; void f(); };\n"
            "struct C { int a; C(); };\n"
            "class D { public: int a; private: int b; };\n"),
      "A 3 1 record\nB 1 1\nC 1 1\nD 0 2\n");
}

TEST(ClassSizesTest, CanBeHeldInMind) {
  const std::filesystem::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const std::string dynet = "dynet_like/compat/";  // what DyNet's classes have is DyNet's choice
  std::size_t classes = 0;
  std::map<std::string, Size> larger;
  for (const char* folder : {"batching", "dynet_like", "nn"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().lexically_relative(root).generic_string();
      const std::string extension = entry.path().extension();
      const bool is_source = extension == ".h" || extension == ".cpp" || extension == ".cu";
      if (!is_source || path.starts_with(dynet)) continue;
      for (const ClassSize& size : sizes_of_classes(source_text(entry.path()))) {
        ++classes;
        // Options and results may have as many members as there are things to choose or to know.
        const bool is_small = size.members <= kMostMembers || size.is_record;
        if (size.functions <= kMostFunctions && is_small) continue;
        const auto listed = kLarger.find(size.name);
        EXPECT_TRUE(listed != kLarger.end())
            << path << ": need at most " << kMostFunctions << " functions and " << kMostMembers
            << " data members in a class; got " << size;
        if (listed == kLarger.end()) continue;
        larger[size.name];
        EXPECT_LE(size.functions, listed->second.functions) << path << ": got " << size;
        EXPECT_LE(size.members, listed->second.members) << path << ": got " << size;
        EXPECT_TRUE(size.functions >= listed->second.functions &&
                    size.members >= listed->second.members)
            << "lower the numbers in the list of larger classes to those of " << size;
      }
    }
  }
  EXPECT_GT(classes, 500u);
  for (const auto& [name, size] : kLarger) {
    EXPECT_TRUE(larger.contains(name)) << "take " << name << " from the list of larger classes";
  }
}

}  // namespace
}  // namespace dynet_like::class_sizes
