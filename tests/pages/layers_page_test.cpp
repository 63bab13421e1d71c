// docs/layers.md: its table has every layer of nn/nn.h, with the constructors of the headers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/source_text.h"

namespace {

namespace fs = std::filesystem;
using dynet_like::source_text;

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), {}};
}

/// The text from `begin`, a "(", to its ")", both left out.
std::string in_brackets(const std::string& text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text.substr(begin + 1, i - begin - 1);
  }
  throw std::runtime_error("need a ) for every (");
}

/// "ParameterCollection& model, unsigned inputs, bool with_bias = true, const std::string& name =
/// ..." as the table has it: "model, inputs, with_bias = true, name".
std::string names_of(const std::string& parameters) {
  std::string names, parameter;
  std::istringstream in(parameters + ",");
  while (std::getline(in, parameter, ',')) {
    static const std::regex form(R"(\s*[^=]*?(\w+)\s*(=\s*[^=]*)?)");
    std::smatch match;
    if (!std::regex_match(parameter, match, form)) throw std::runtime_error("need " + parameter);
    names += (names.empty() ? "" : ", ") + match.str(1);
    if (match[2].matched && match.str(1) != "name") names += " " + match.str(2);
  }
  return names;
}

struct Layers {
  std::set<std::string> names, constructors;
};

/// The classes of the headers that nn/nn.h includes, but for nested ones, and other names of them.
Layers layers_of(const fs::path& root) {
  Layers layers;
  const std::string umbrella = source_text(root / "nn/nn.h");
  for (const std::smatch& include :
       matches(umbrella, std::regex("#include \"(nn/[\\w/]+\\.h)\""))) {
    const std::string header = source_text(root / include.str(1));
    for (const std::smatch& alias :
         matches(header, std::regex(R"((?:^|\n)using (\w+) = \w+<\w+>;)"))) {
      layers.names.insert(alias[1]);
    }
    for (const std::smatch& each : matches(header, std::regex(R"((?:^|\n)class (\w+))"))) {
      const std::string name = each[1];
      layers.names.insert(name);
      const std::regex constructor("\n  (?:explicit )?" + name + "(\\()");
      for (const std::smatch& begin : matches(header, constructor)) {
        const std::string parameters =
            in_brackets(header, static_cast<std::size_t>(begin.position(1)));
        if (parameters == "const " + name + "&") continue;
        layers.constructors.insert(name + "(" + names_of(parameters) + ")");
      }
    }
  }
  return layers;
}

Layers table_of(const fs::path& root) {
  Layers layers;
  const std::string page = source_text(root / "docs/layers.md");
  for (const std::smatch& row : matches(page, std::regex(R"(\n\| (`[^|]*) \| ([^|]*) \|)"))) {
    const std::string first = row[1], second = row[2];
    for (const std::smatch& name : matches(first, std::regex(R"(`(\w+)(?:<\w+>)?`)"))) {
      layers.names.insert(name[1]);
    }
    for (const std::smatch& call : matches(second, std::regex(R"(`(\w+\([^`]*\))`)"))) {
      layers.constructors.insert(call[1]);
    }
  }
  return layers;
}

TEST(LayersPageTest, TheTableHasEveryLayerAndNoOther) {
  const char* const source = std::getenv("DYNET_LIKE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "DYNET_LIKE_SOURCE_DIR is not set";
  const Layers in_headers = layers_of(source), in_table = table_of(source);
  EXPECT_GT(in_headers.names.size(), 25u);
  EXPECT_EQ(in_table.names, in_headers.names);
  EXPECT_EQ(in_table.constructors, in_headers.constructors);
}

TEST(LayersPageTest, ParametersAreReadAsTheTableHasThem) {
  EXPECT_EQ(names_of("ParameterCollection& model, unsigned inputs,\n         bool b = true,\n"
                     "  const MLPOptions& options = {}, const std::string& name = kName"),
            "model, inputs, b = true, options = {}, name");
  EXPECT_EQ(in_brackets("a(b(c), d) e", 1), "b(c), d");
}

}  // namespace
