// What pages say of the project is so: their links, the way of a minibatch, the glossary,
// decisions, checks of the emulator, lists of programs and of options, and requirements.
#include <cctype>
#include <set>

#include "tests/support/source_text.h"

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::set<std::string> set_of(const Names& names) { return {names.begin(), names.end()}; }

/// The part of a text from some words on, up to others; empty without the first ones.
std::string part(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  return begin == text.npos ? "" : text.substr(begin, text.find(to, begin) - begin);
}

Names lines_of(const std::string& text) {
  Names lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// --------------------------------------------------------------------------------------- links

/// The lines of a page without blocks of code, in which [i](x) is no link and # no heading.
Names prose_of(const fs::path& page) {
  Names prose;
  bool is_code = false;
  for (const std::string& line : lines_of(source_text(page))) {
    if (line.starts_with("```")) {
      is_code = !is_code;
    } else if (!is_code) {
      prose.push_back(line);
    }
  }
  return prose;
}

/// Headings as links name them: "## A kernel of your own" is "a-kernel-of-your-own".
std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> anchors;
  for (const std::string& line : prose_of(page)) {
    if (!line.starts_with('#')) continue;
    std::string anchor;
    for (const char c : line.substr(line.find_first_not_of('#') + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(byte));
      } else if (c == ' ') {
        anchor += '-';
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

/// The links of a page that lead nowhere.
Names faults_of(const fs::path& page) {
  Names faults;
  for (const std::string& line : prose_of(page)) {
    for (const std::smatch& link : matches(line, R"(\]\(([^)\s#]*)(#([^)\s]*))?\))")) {
      const std::string path = link[1], anchor = link[3];
      if (path.starts_with("http")) continue;
      const fs::path target = path.empty() ? page : page.parent_path() / path;
      const bool is_there = fs::exists(source_root() / target) &&
                            (anchor.empty() || anchors_of(target).contains(anchor));
      if (!is_there) faults.push_back(link.str());
    }
  }
  return faults;
}

TEST(LinksTest, AllLeadSomewhere) {
  std::vector<fs::path> pages = {"README.md", "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(source_root() / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  EXPECT_GT(pages.size(), 40u);
  for (const fs::path& page : pages) EXPECT_EQ(faults_of(page), Names{}) << page;
}

TEST(LinksTest, FindsWhatIsNotThere) {
  const fs::path page = fs::path(::testing::TempDir()) / "links_test.md";
  std::ofstream(page) << "# A page, with `code`\n[a](links_test.md) [b](#a-page-with-code)\n"
                      << "```cpp\n# no heading\nx = a[i](none.md);\n```\n"
                      << "[c](none.md) [d](#no-heading) [e](https://example.org/none)\n";
  EXPECT_EQ(faults_of(page), (Names{"](none.md)", "](#no-heading)"}));
}

// -------------------------------------------------------------------------------- architecture

/// The cells of the rows of docs/architecture.md's table with this first cell in its head.
std::vector<Names> rows_of(const std::string& head) {
  std::vector<Names> rows;
  const std::string page = source_text("docs/architecture.md");
  for (const std::string& line : lines_of(part(page, "\n| " + head + " |", "\n\n"))) {
    if (!line.starts_with("| ") || line.starts_with("| " + head + " |")) continue;
    std::istringstream text(line.substr(1));
    rows.emplace_back();
    for (std::string cell; std::getline(text, cell, '|');) rows.back().push_back(cell);
  }
  return rows;
}

const std::string kLink = R"(\]\(([^)]+)\))";

// The way of a minibatch is short, and its files have the functions that the page names.
TEST(ArchitecturePageTest, TheWayIsShortAndNamesFunctionsThatAreThere) {
  for (const char* const head : {"forward", "backward"}) {
    const std::vector<Names> rows = rows_of(head);
    EXPECT_TRUE(rows.size() >= 10 && rows.size() <= 15) << head << ' ' << rows.size();
    for (const Names& row : rows) {
      ASSERT_EQ(row.size(), 3u) << row[0];
      std::string text;
      for (const std::string& file : first_groups(row[0] + row[1], kLink)) {
        text += source_text("docs/" + file);
      }
      ASSERT_NE(text, "") << row[0];
      for (const std::string& name : first_groups(row[1], R"(`(?:\w+::)*(\w+)`)")) {
        EXPECT_TRUE(std::regex_search(text, std::regex("(^|[^.>\\w])" + name + "\\b")))
            << row[0] << name;
      }
    }
  }
}

TEST(ArchitecturePageTest, HeadersExplainTheWordsOfTheGlossary) {
  const std::vector<Names> rows = rows_of("word");
  EXPECT_GT(rows.size(), 30u);
  for (const Names& row : rows) {
    ASSERT_EQ(row.size(), 3u) << row[0];
    std::string comments;
    for (const std::string& file : first_groups(row[2], kLink)) {
      if (!file.ends_with(".h")) continue;
      for (const std::string& line : lines_of(source_text("docs/" + file))) {
        const std::size_t comment = line.find("//");
        if (comment != line.npos) comments += line.substr(comment) + "\n";
      }
    }
    const std::string word = std::regex_replace(row[0], std::regex("^ +| +$"), "");
    EXPECT_TRUE(std::regex_search(
        comments, std::regex("\\b" + word + "(s|es)?\\b", std::regex_constants::icase)))
        << word;
  }
}

// ------------------------------------------------------------------------ decisions, the emulator

// Every page is in the index and short, and the files that it names are there.
TEST(DecisionsTest, AreInTheIndexAndNameFilesThatAreThere) {
  const std::string index = source_text("docs/decisions/README.md");
  std::size_t pages = 0, files = 0;
  for (const auto& entry : fs::directory_iterator(source_root() / "docs/decisions")) {
    const std::string name = entry.path().filename(), text = source_text(entry.path());
    if (name == "README.md") continue;
    ++pages;
    EXPECT_NE(index.find("](" + name + ") |"), index.npos) << name;
    EXPECT_NE(text.find("\n## "), text.npos) << name << ": need a heading for each decision";
    EXPECT_LE(std::ranges::count(text, '\n'), 80) << name;
    for (const std::string& path : first_groups(text, R"(`([a-z_]+/[a-z_/]+(\.[a-z]+)?)`)")) {
      EXPECT_TRUE(fs::exists(source_root() / path) ||
                  fs::exists(source_root() / "dynet_like" / path))
          << name << ": " << path;
      ++files;
    }
  }
  EXPECT_GT(pages, 8u);
  EXPECT_GT(files, 10u);
}

// docs/emulator.md names tests, and rows of the table of kernels as "Faults.Name".
TEST(EmulatorPageTest, EveryCheckHasATestWithAPlantedFault) {
  std::set<std::string> tests, named;
  for (const auto& entry : fs::directory_iterator(source_root() / "tests/emulator")) {
    const std::string text = source_text(entry.path());
    for (const std::smatch& each : matches(text, R"(\nTEST(?:_F)?\((\w+),\s*(\w+)\))")) {
      tests.insert(each.str(1) + "." + each.str(2));
    }
    for (const std::string& row : first_groups(text, R"row(\n    \{"(\w+)",)row")) {
      tests.insert("Faults." + row);
    }
  }
  const std::string page = source_text("docs/emulator.md");
  for (const std::string& test :
       first_groups(page, R"(\n\| [^|\n]+ \| [^|\n]+ \| `(\w+\.\w+)` \|)")) {
    EXPECT_TRUE(tests.contains(test)) << test;
    EXPECT_TRUE(named.insert(test).second) << test;
  }
  EXPECT_GT(named.size(), 20u);
}

// ------------------------------------------------------------------------------------ examples

/// The programs of a folder whose sources have some words.
std::set<std::string> programs(const std::string& folder, const std::string& words = "") {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(source_root() / folder)) {
    if (entry.path().extension() != ".cpp") continue;
    if (source_text(entry.path()).find(words) != std::string::npos) {
      names.insert(entry.path().stem());
    }
  }
  return names;
}

/// A number from 10 to 14 as a word.
std::string word_of(std::size_t number) {
  const Names words = {"ten", "eleven", "twelve", "thirteen", "fourteen"};
  return number < 10 || number >= 10 + words.size() ? "another number" : words[number - 10];
}

TEST(ExamplesPageTest, ListsAllPrograms) {
  const std::string page = source_text("docs/examples.md");
  const Names to_copy = first_groups(part(page, "## To copy", "## Full"),
                                     R"(\n\| \[`([a-z0-9_]+)`\]\(\.\./examples/[a-z0-9_]+\.cpp\))");
  EXPECT_EQ(set_of(to_copy), programs("examples"));
  EXPECT_NE(source_text("README.md").find(word_of(to_copy.size()) + " of at most 42 lines"),
            std::string::npos);
  Names full = first_groups(part(page, "## Full", "They train in"),
                            R"(`\]\(\.\./examples/full/([a-z0-9_]+)\.cpp\))");
  EXPECT_EQ(set_of(full), programs("examples/full"));
  const std::set<std::string> sharing = programs("examples/full", "const Program k");
  EXPECT_NE(page.find("The first " + word_of(sharing.size()) + " programs share these options"),
            std::string::npos);
  full.resize(sharing.size());
  EXPECT_EQ(set_of(full), sharing);
  const std::string with_vectors =
      part(source_text("docs/data.md"), "These examples take `--vectors FILE`", ".");
  EXPECT_EQ(set_of(first_groups(with_vectors, "`([a-z0-9_]+)`")),
            programs("examples/full", "add_vector_options"));
}

TEST(ExamplesPageTest, CountsLines) {
  const std::string page = source_text("docs/examples.md");
  const auto counted =
      matches(page, R"(\(\.\./(examples/[a-z0-9_/]+\.cpp)\)[^|\n;]*, ([0-9]+) lines)");
  EXPECT_EQ(counted.size(), 1u);
  for (const std::smatch& each : counted) {
    const std::string source = source_text(each.str(1));
    EXPECT_EQ(std::to_string(std::ranges::count(source, '\n')), each[2]) << each[1];
  }
}

// ------------------------------------------------------------------------ requirements, options

// What building needs, as cmake/Requirements.cmake says it: docs/installing.md and
// scripts/install_deps.sh say the same.
TEST(RequirementsTest, AreThoseOfTheBuild) {
  const std::string build = source_text("cmake/Requirements.cmake"),
                    page = part(source_text("docs/installing.md"), "The library needs",
                                "examples and benchmarks");
  std::string script;  // the lines of its list that end so
  for (const std::string& line : lines_of(source_text("scripts/install_deps.sh"))) {
    if (line.ends_with(" the library")) script += line + '\n';
  }
  const std::map<std::string, std::string> names = {{"fmt", "fmt"},
                                                    {"nlohmann_json", "nlohmann-json"},
                                                    {"Highway", "Highway"},
                                                    {"Eigen3", "Eigen"},
                                                    {"ZLIB", "zlib"},
                                                    {"Libzip", "libzip"},
                                                    {"Boost", "Boost"},
                                                    {"Utf8proc", "utf8proc"},
                                                    {"Oniguruma", "Oniguruma"}};
  // "core|Boost COMPONENTS context|...", or "Eigen3|libeigen3-dev".
  const auto packages = matches(
      build, R"re("(?:(?:core|nn)\|)?([A-Z]?\w+)( [0-9.]+)?( COMPONENTS (\w+))?\|[^"]*")re");
  EXPECT_EQ(packages.size(), names.size());
  for (const std::smatch& each : packages) {
    ASSERT_TRUE(names.contains(each[1])) << each[1];
    const std::string name = names.at(each[1]), component = each[4];
    for (const std::string& text : {page, script}) {
      EXPECT_NE(text.find(name), std::string::npos) << name << " in " << text;
      EXPECT_NE(text.find(component), std::string::npos) << component << " in " << text;
    }
  }
}

/// Options in order, the pattern's first group, with their defaults unless these are nothing.
Names options_of(const std::string& text, const std::string& pattern) {
  const std::set<std::string> nothing = {"", "false", "{}", "nullptr", "{.threads = 0}"};
  Names options;
  for (const std::smatch& each : matches(text, pattern)) {
    const std::string value = each[2];
    options.push_back(each.str(1) + (nothing.contains(value) ? "" : " = " + value));
  }
  return options;
}

// docs/training.md has those of the headers, in their order.
TEST(TrainingOptionsTest, AreInTheOrderOfTheHeaders) {
  std::string members;
  for (const std::string of : {"training", "schedule", "stopping", "rank", "file", "report"}) {
    const std::string header = source_text("nn/train/" + of + "_options.h"), name = of.substr(1);
    members +=
        part(header,
             "struct " + std::string(1, static_cast<char>(of[0] - 'a' + 'A')) + name + "Options {",
             "\n};");
  }
  members = std::regex_replace(members, std::regex("///?[^\n]*"), "");
  const auto expected = options_of(members, R"((\w+) = (\{[^}]*\}|[^,;]+)[,;])");
  EXPECT_GT(expected.size(), 35u);
  const std::string list =
      part(source_text("docs/training.md"), "name in this order:", "[The headers]");
  EXPECT_EQ(options_of(list, "`(\\w+)(?: = ([^`]*))?`"), expected);
}

}  // namespace
}  // namespace dynet_like
