// docs/layers.md: its table has every layer of nn/nn.h, with the constructors of the headers.
#include <set>

#include "tests/support/source_text.h"

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

/// The text from `begin`, a "(", to its ")", both left out.
std::string in_brackets(const std::string& text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text.substr(begin + 1, i - begin - 1);
  }
  throw std::runtime_error("need a ) for every (");
}

/// The members of a struct of options, by its name: ".layers, .dropout, .name".
using Options = std::map<std::string, std::string>;

Options options_of(const std::string& headers) {
  Options options;
  for (const std::smatch& each : matches(headers, R"(\nstruct (\w+Options) \{([\s\S]*?)\n\};)")) {
    const std::string body = each[2];
    std::string& members = options[each[1]];
    for (const std::smatch& member : matches(body, R"(\n  [\w:<>]+ (\w+) = )")) {
      members += (members.empty() ? "." : ", .") + member.str(1);
    }
  }
  return options;
}

/// "ParameterCollection& model, unsigned inputs, const LSTMOptions& options = {}" as the table has
/// it, but for defaults: "model, inputs, {.layers, .name}".
std::string names_of(const std::string& parameters, const Options& options) {
  std::string names, parameter;
  std::istringstream in(parameters + ",");
  while (std::getline(in, parameter, ',')) {
    static const std::regex form(R"([^=]*?(\w+)>?&? (\w+)(?: = .*)?)");
    std::smatch match;
    if (!std::regex_match(parameter, match, form)) throw std::runtime_error("need " + parameter);
    const auto members = options.find(match[1]);
    names += (names.empty() ? "" : ", ") +
             (members == options.end() ? match.str(2) : "{" + members->second + "}");
  }
  return names;
}

struct Layers {
  std::set<std::string> names, constructors;
};

/// The classes of the headers that nn/nn.h includes, but for nested ones, and other names of them.
Layers layers_of_headers() {
  Layers layers;
  const std::string umbrella = source_text("nn/nn.h");
  std::string headers;
  for (const std::smatch& include : matches(umbrella, "#include \"(nn/[\\w/]+\\.h)\"")) {
    headers += source_text(include.str(1));
  }
  for (std::size_t begin = 0; (begin = headers.find("\n private:")) != std::string::npos;) {
    headers.erase(begin, headers.find("\n};", begin) - begin);
  }
  const Options options = options_of(headers);
  for (const std::smatch& alias : matches(headers, R"(\nusing (\w+) = \w+<\w+>;)")) {
    layers.names.insert(alias[1]);
  }
  for (const std::smatch& each : matches(headers, R"(\nclass (\w+))")) {
    const std::string name = each[1];
    layers.names.insert(name);
    const std::string constructor = "\n  (?:explicit )?" + name + "(\\()";
    for (const std::smatch& begin : matches(headers, constructor)) {
      const std::string parameters =
          in_brackets(headers, static_cast<std::size_t>(begin.position(1)));
      if (parameters == "const " + name + "&") continue;
      layers.constructors.insert(name + "(" + names_of(parameters, options) + ")");
    }
  }
  return layers;
}

Layers layers_of_page() {
  Layers layers;
  const std::string page = source_text("docs/layers.md");
  for (const std::smatch& row : matches(page, R"(\n\| (`[^|]*) \| ([^|]*) \|)")) {
    const std::string first = row[1], second = row[2];
    for (const std::smatch& name : matches(first, R"(`(\w+)(?:<\w+>)?`)")) {
      layers.names.insert(name[1]);
    }
    for (const std::smatch& call : matches(second, R"(`(\w+\([^`]*\))`)")) {
      static const std::regex value(" = [^,}]+");
      layers.constructors.insert(std::regex_replace(call.str(1), value, ""));
    }
  }
  return layers;
}

TEST(LayersPageTest, TheTableHasEveryLayerAndNoOther) {
  const Layers in_headers = layers_of_headers(), in_table = layers_of_page();
  EXPECT_GT(in_headers.names.size(), 25u);
  EXPECT_EQ(in_table.names, in_headers.names);
  EXPECT_EQ(in_table.constructors, in_headers.constructors);
}

TEST(LayersPageTest, ParametersAreReadAsTheTableHasThem) {
  const Options options =
      options_of("\nstruct AOptions {\n  /// One = 1.\n  bool b = true;\n  int c = {};\n};\n");
  EXPECT_EQ(names_of("ParameterCollection& model, unsigned inputs,\n  const AOptions& options = {}",
                     options),
            "model, inputs, {.b, .c}");
  EXPECT_EQ(in_brackets("a(b(c), d) e", 1), "b(c), d");
}

}  // namespace
}  // namespace dynet_like
